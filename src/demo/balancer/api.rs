//! The Data Plane API of the demo's load balancer: the paths, shapes and refusals of version 3 that driving a pool needs.
//! It must not keep state; each answer is read from the members anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::member::{Admin, Member};
use super::{BACKEND, Balancer};

/// What the API calls the process behind it.
const RUNTIME: &str = "manent demo";

type Shared = State<Arc<Balancer>>;

/// Serves for ever.
pub(super) async fn serve(balancer: Arc<Balancer>, listener: TcpListener) {
    // It ends only with the executor.
    let _ = axum::serve(listener, routes(balancer)).await;
}

/// All paths, behind the login.
pub(super) fn routes(balancer: Arc<Balancer>) -> Router {
    Router::new()
        .route("/v3/info", get(api))
        .route("/v3/health", get(health))
        .route("/v3/services/haproxy/runtime/info", get(process))
        .route("/v3/services/haproxy/runtime/backends/{backend}/servers", get(list))
        .route("/v3/services/haproxy/runtime/backends/{backend}/servers/{server}", get(one).put(change))
        .route("/v3/services/haproxy/stats/native", get(counters))
        .fallback(unknown_path)
        .layer(middleware::from_fn_with_state(Arc::clone(&balancer), login))
        .with_state(balancer)
}

async fn login(State(balancer): Shared, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if given == Some(balancer.authorization.as_str()) {
        return next.run(request).await;
    }
    let wanted = [(header::WWW_AUTHENTICATE, "Basic realm=\"API\"")];
    (wanted, error(StatusCode::UNAUTHORIZED, "unauthorized")).into_response()
}

async fn api() -> Json<Value> {
    Json(json!({"api": {"version": "v3.2.0 manent-demo"}, "system": {}}))
}

async fn health() -> Json<Value> {
    Json(json!({"haproxy": "up"}))
}

async fn process(State(balancer): Shared) -> Json<Value> {
    Json(json!({"runtimeAPI": RUNTIME, "info": {
        "pid": std::process::id(),
        "uptime": balancer.began.elapsed().as_secs(),
        "version": "manent-demo",
        "stopping": 0,
    }}))
}

async fn list(State(balancer): Shared, Path(backend): Path<String>) -> Response {
    if backend != BACKEND {
        return no_data(&backend);
    }
    let members = balancer.members();
    Json((1..).zip(&members).map(|(id, member)| server(id, member)).collect::<Value>()).into_response()
}

async fn one(State(balancer): Shared, Path((backend, name)): Path<(String, String)>) -> Response {
    match found(&balancer, &backend, &name) {
        Some(server) => Json(server).into_response(),
        None => no_data(&format!("{backend}/{name}")),
    }
}

async fn change(
    State(balancer): Shared,
    Path((backend, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        let words = format!("unsupported media type \"{kind}\", only [application/json] are allowed");
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &words);
    }
    let Ok(Value::Object(wanted)) = serde_json::from_str(&body) else {
        return error(StatusCode::BAD_REQUEST, "the body is not a JSON object");
    };
    let word = |field: &str| wanted.get(field).map(|value| value.as_str().unwrap_or_default());
    let (admin, up) = (word("admin_state").map(Admin::parse), word("operational_state").map(up));
    if admin == Some(None) {
        return invalid("admin_state in body should be one of [ready maint drain]");
    }
    if up == Some(None) {
        return invalid("operational_state in body should be one of [up down]");
    }
    if found(&balancer, &backend, &name).is_none() {
        return no_data(&format!("{backend}/{name}"));
    }
    // The real API applies the health first, too.
    if let Some(up) = up.flatten() {
        balancer.force(&name, up);
    }
    if let Some(admin) = admin.flatten() {
        balancer.set_admin(&name, admin);
    }
    one(State(balancer), Path((backend, name))).await
}

async fn counters(State(balancer): Shared, Query(query): Query<BTreeMap<String, String>>) -> Response {
    let wanted = |name: &str| query.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let (kind, name, parent) = (wanted("type"), wanted("name"), wanted("parent"));
    if name.is_some() && kind.is_none() {
        return error(StatusCode::BAD_REQUEST, "Type required when filtering by name");
    }
    if kind == Some("server") && name.is_some() && parent.is_none() {
        return error(StatusCode::BAD_REQUEST, "Parent backend required when filtering by server");
    }
    let fits = |member: &&Member| {
        kind.is_none_or(|kind| kind == "server")
            && name.is_none_or(|name| name == member.name)
            && parent.is_none_or(|parent| parent == BACKEND)
    };
    let members = balancer.members();
    let found: Vec<Value> = members.iter().filter(fits).map(counted).collect();
    // Nothing found: the field is missing, not empty.
    match found.is_empty() {
        true => Json(json!({"runtimeAPI": RUNTIME})).into_response(),
        false => Json(json!({"runtimeAPI": RUNTIME, "stats": found})).into_response(),
    }
}

async fn unknown_path(request: Request) -> Response {
    error(StatusCode::NOT_FOUND, &format!("path {} was not found", request.uri().path()))
}

fn found(balancer: &Balancer, backend: &str, name: &str) -> Option<Value> {
    let members = balancer.members();
    let mut numbered = (1..).zip(&members).filter(|_| backend == BACKEND);
    numbered.find(|(_, member)| member.name == name).map(|(id, member)| server(id, member))
}

fn server(id: u32, member: &Member) -> Value {
    json!({
        "address": member.address.ip().to_string(),
        "admin_state": member.admin().word(),
        "id": id.to_string(),
        "name": member.name,
        "operational_state": if member.is_up() { "up" } else { "down" },
        "port": member.address.port(),
    })
}

fn counted(member: &Member) -> Value {
    let mut stats = json!({
        "addr": member.address.to_string(),
        "act": 1,
        "bck": 0,
        "mode": "http",
        "qcur": 0,
        "scur": member.sessions,
        "status": member.status(),
        "stot": member.given,
        "weight": 1,
    });
    if let (Some(check), Value::Object(stats)) = (member.check_status(), &mut stats) {
        stats.insert(String::from("check_status"), check.into());
    }
    json!({"backend_name": BACKEND, "name": member.name, "type": "server", "stats": stats})
}

fn up(word: &str) -> Option<bool> {
    match word {
        "up" => Some(true),
        "down" => Some(false),
        _ => None,
    }
}

fn no_data(of: &str) -> Response {
    error(StatusCode::NOT_FOUND, &format!("no data for {of}: not found"))
}

fn invalid(words: &str) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"code": 606, "message": words}))).into_response()
}

fn error(status: StatusCode, words: &str) -> Response {
    (status, Json(json!({"code": status.as_u16(), "message": words}))).into_response()
}
