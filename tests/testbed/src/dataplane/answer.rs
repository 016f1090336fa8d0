//! Bodies of answers: HAProxy's columns in the JSON shapes of the API.
//! Pure; it asks nobody and chooses no status.

use super::backend::integer;
use super::dialect::{Decoding, Release, operational_state};
use crate::socket::{Row, text};
use serde_json::{Map, Value, json};

/// Counters of the API's model that are numbers; columns beyond the model are left out.
const NUMBERS: &[&str] = &[
    "act",
    "agent_code",
    "agent_duration",
    "agent_fall",
    "agent_health",
    "agent_rise",
    "bck",
    "bin",
    "bout",
    "check_code",
    "check_duration",
    "check_fall",
    "check_health",
    "check_rise",
    "chkdown",
    "chkfail",
    "cli_abrt",
    "comp_byp",
    "comp_in",
    "comp_out",
    "comp_rsp",
    "conn_rate",
    "conn_rate_max",
    "conn_tot",
    "ctime",
    "dcon",
    "downtime",
    "dreq",
    "dresp",
    "dses",
    "econ",
    "ereq",
    "eresp",
    "hrsp_1xx",
    "hrsp_2xx",
    "hrsp_3xx",
    "hrsp_4xx",
    "hrsp_5xx",
    "hrsp_other",
    "iid",
    "intercepted",
    "lastchg",
    "lastsess",
    "lbtot",
    "pid",
    "qcur",
    "qlimit",
    "qmax",
    "qtime",
    "rate",
    "rate_lim",
    "rate_max",
    "req_rate",
    "req_rate_max",
    "req_tot",
    "rtime",
    "scur",
    "sid",
    "slim",
    "smax",
    "srv_abrt",
    "stot",
    "throttle",
    "ttime",
    "weight",
    "wredis",
    "wretr",
];

/// Counters that are text.
const TEXTS: &[&str] = &[
    "addr",
    "agent_desc",
    "agent_status",
    "algo",
    "check_desc",
    "check_status",
    "cookie",
    "hanafail",
    "last_agt",
    "last_chk",
    "mode",
    "status",
    "tracked",
];

/// The error object.
pub(super) fn error(code: u16, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

/// One server, six fields or 26.
pub(super) fn server(row: &Row, release: Release, decoding: Decoding) -> Value {
    let mask = u32::try_from(integer(row, "srv_admin_state")).unwrap_or(0);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("address", text(row, "srv_addr").into());
    put("admin_state", decoding.admin_state(mask).into());
    put("id", text(row, "srv_id").into());
    put("name", text(row, "srv_name").into());
    put("operational_state", operational_state(integer(row, "srv_op_state")).into());
    put("port", integer(row, "srv_port").into());
    if !release.whole_objects() {
        return fields.into();
    }
    for (name, column) in [
        ("agent_addr", "srv_agent_addr"),
        ("backend_name", "be_name"),
        ("check_addr", "srv_check_addr"),
        ("fqdn", "srv_fqdn"),
        ("srvrecord", "srvrecord"),
    ] {
        put(name, text(row, column).into());
    }
    for (name, column) in [
        ("agent_port", "srv_agent_port"),
        ("agent_state", "srv_agent_state"),
        ("backend_forced_id", "bk_f_forced_id"),
        ("backend_id", "be_id"),
        ("check_health", "srv_check_health"),
        ("check_port", "srv_check_port"),
        ("check_result", "srv_check_result"),
        ("check_state", "srv_check_state"),
        ("check_status", "srv_check_status"),
        ("forced_id", "srv_f_forced_id"),
        ("iweight", "srv_iweight"),
        ("last_time_change", "srv_time_since_last_change"),
        ("uweight", "srv_uweight"),
        ("weight", "srv_uweight"),
    ] {
        put(name, integer(row, column).into());
    }
    put("use_ssl", (integer(row, "srv_use_ssl") != 0).into());
    fields.into()
}

/// The counters of one frontend, backend or server; a column that is empty is left out.
pub(super) fn counters(row: &Row) -> Value {
    let kind = kind(row);
    let mut counters = Map::new();
    for name in NUMBERS {
        if let Ok(number) = text(row, name).parse::<i64>() {
            counters.insert((*name).to_owned(), number.into());
        }
    }
    for name in TEXTS {
        let words = text(row, name);
        if !words.is_empty() {
            counters.insert((*name).to_owned(), words.into());
        }
    }
    let mut object = Map::new();
    let name = if kind == "server" { text(row, "svname") } else { text(row, "pxname") };
    if kind == "server" {
        object.insert("backend_name".to_owned(), text(row, "pxname").into());
    }
    object.insert("name".to_owned(), name.into());
    object.insert("type".to_owned(), kind.into());
    object.insert("stats".to_owned(), counters.into());
    object.into()
}

/// `frontend`, `backend` or `server`.
pub(super) fn kind(row: &Row) -> &'static str {
    match text(row, "type") {
        "0" => "frontend",
        "1" => "backend",
        "2" => "server",
        _ => "",
    }
}

/// The process.
pub(super) fn process(info: &Row) -> Value {
    json!({
        "pid": integer(info, "Pid"),
        "uptime": integer(info, "Uptime_sec"),
        "version": text(info, "Version"),
        "stopping": integer(info, "Stopping"),
        "processes": 1,
        "process_num": 1,
        "curr_conns": integer(info, "CurrConns"),
    })
}

/// One object in v3, a list with one object for each process in v2.
pub(super) fn collection(release: Release, object: Value) -> Value {
    match release {
        Release::V2_9 => Value::Array(vec![object]),
        Release::V3_0 | Release::V3_2 | Release::V3_3_6 => object,
    }
}
