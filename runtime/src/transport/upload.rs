//! Brings a local file to a target: checked here, sent only when it is not there yet, checked there, then renamed.
//! Asked again it does the same again, so it needs no ledger.

use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::output::{tail, text};
use super::posix::{Session, Shell, whole};
use super::quote::words;
use super::{Executed, shown};

const UPLOAD: &str = include_str!("upload.sh");
/// Reads so many bytes and executes them; what follows on standard input is left for them.
const LINE: &str = r#"exec sh -c 'IFS= read -r n && eval "$(dd bs=1 count="$n" 2>/dev/null)"'"#;

pub(super) async fn upload(
    shell: &dyn Shell,
    from: &Path,
    to: &str,
    sha256: Option<&str>,
    deadline: Duration,
) -> Executed {
    let work = async {
        let mut file = File::open(from).await.map_err(|error| cannot_read(from, &error))?;
        let found = digest(&mut file).await.map_err(|error| cannot_read(from, &error))?;
        if sha256.is_some_and(|expected| !expected.eq_ignore_ascii_case(&found)) {
            let reason =
                format!("`{}` is not the file of the plan any more: its sha256 is {found}", from.display());
            return Err(Executed::not_started(reason));
        }
        let mut file = File::open(from).await.map_err(|error| cannot_read(from, &error))?;
        send(shell, &mut file, to, &found).await
    };
    match tokio::time::timeout(deadline, work).await {
        Ok(Ok(executed) | Err(executed)) => executed,
        Err(_) => {
            Executed::TimedOut { stdout: String::new(), stderr: String::from("the upload took too long") }
        }
    }
}

fn cannot_read(from: &Path, error: &std::io::Error) -> Executed {
    Executed::not_started(format!("`{}` cannot be read: {error}", from.display()))
}

async fn digest(file: &mut File) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut piece = vec![0_u8; 256 * 1024];
    loop {
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
}

async fn send(shell: &dyn Shell, file: &mut File, to: &str, sha256: &str) -> Result<Executed, Executed> {
    let mut chance = [0_u8; 12];
    getrandom::fill(&mut chance)
        .map_err(|error| Executed::not_started(format!("no random numbers: {error}")))?;
    let name = format!(".manent-{}.tmp", hex::encode(chance));
    let call = words([to, sha256, &name]).map_err(|error| Executed::not_started(error.to_string()))?;
    let script = whole(UPLOAD, &format!("manent_upload {call}"));
    let Session { mut input, output, errors, exit } =
        shell.start(LINE).await.map_err(Executed::not_started)?;
    let errors = tokio::spawn(tail(errors));
    let mut output = BufReader::new(output);
    let talk = async move {
        input.write_all(format!("{}\n{script}", script.len()).as_bytes()).await?;
        let mut said = String::new();
        output.read_line(&mut said).await?;
        if said.trim_end() == "send" {
            tokio::io::copy(file, &mut input).await?;
            input.shutdown().await?;
            // Only then does the other side see the end of the file.
            drop(input);
            said.clear();
            output.read_line(&mut said).await?;
        }
        std::io::Result::Ok(said)
    };
    let said = talk.await;
    let errors = errors.await.ok().and_then(Result::ok).unwrap_or_default();
    let code = exit.await;
    match (code, said) {
        // What was sent of a file has no effect before the file is whole.
        (Err(reason), _) => Err(Executed::lost(reason)),
        (Ok(0), Ok(said)) if said.trim_end() == "same" => Ok(done("it is there already")),
        (Ok(0), Ok(said)) if said.trim_end() == "done" => Ok(done("sent")),
        (Ok(0), Ok(said)) => Err(Executed::lost(format!("the shell there answered `{}`", shown(&said, 200)))),
        (Ok(0), Err(error)) => Err(Executed::lost(error.to_string())),
        (Ok(code), _) => Ok(Executed::Exited { code, stdout: String::new(), stderr: text(&errors) }),
    }
}

fn done(words: &str) -> Executed {
    Executed::Exited { code: 0, stdout: words.to_owned(), stderr: String::new() }
}
