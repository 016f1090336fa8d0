//! A Data Plane API in front of a HAProxy that somebody else runs, for trying manent by hand.
//! It answers as the chosen release does, and stops when it is killed.

use manent_testbed::dataplane::{Bridge, Decoding, Options, Release, SocketBacked};
use manent_testbed::socket::AdminSocket;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: testbed-dataplane --listen ADDRESS:PORT --socket PATH [--user USER:PASSWORD] \
                     [--release 2.9|3.0|3.2|3.3.6] [--decode right|hexadecimal] [--record FILE]";

fn main() -> ExitCode {
    match start() {
        Ok(bridge) => {
            println!("{}", bridge.url());
            loop {
                std::thread::park();
            }
        }
        Err(words) => {
            eprintln!("testbed-dataplane: {words}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<Bridge, String> {
    let mut options = Options { decoding: Decoding::Right, ..Options::default() };
    let (mut listen, mut socket) = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--listen" => {
                listen = Some(value.parse().map_err(|_| format!("`{value}` is no address with port"))?)
            }
            "--socket" => socket = Some(value),
            "--user" => options.credentials = value,
            "--record" => options.record = Some(value.into()),
            "--release" => {
                options.release = match value.as_str() {
                    "2.9" => Release::V2_9,
                    "3.0" => Release::V3_0,
                    "3.2" => Release::V3_2,
                    "3.3.6" => Release::V3_3_6,
                    _ => return Err(format!("`{value}` is no release that it can play")),
                }
            }
            "--decode" => {
                options.decoding = match value.as_str() {
                    "right" => Decoding::Right,
                    "hexadecimal" => Decoding::Hexadecimal,
                    _ => return Err(format!("`{value}` is no way to decode a mask")),
                }
            }
            _ => return Err(format!("`{name}` is unknown")),
        }
    }
    let listen = listen.ok_or("--listen is missing")?;
    let socket = AdminSocket::new(Path::new(&socket.ok_or("--socket is missing")?));
    Bridge::at(listen, SocketBacked(socket), options).map_err(|trouble| trouble.to_string())
}
