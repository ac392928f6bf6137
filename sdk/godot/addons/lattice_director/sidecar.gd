# A game server's client of `director sidecar` beside it, which registers it, sends heartbeats and admits players: the game server needs
# no secret and no cryptography. Add it to the tree. It says every 5 s that the game lives, for as long as the tree is processed.
# Calls wait while the sidecar or the director cannot be reached, until they are cancelled.
class_name LatticeSidecar
extends "res://addons/lattice_director/client.gd"

# Disconnect the player of this admission. The reason is session_lost, replaced, superseded or closed.
signal kicked(id, reason)
# The ids of all admissions: disconnect everybody else. Kicks while nobody listened were not heard.
signal admitted(ids)
# The state has changed. When status.state is unhealthy, call `ready` again; when status.unwanted, call `shutdown`.
signal status_changed(status)
# The open sessions with their expected players.
signal sessions_changed(sessions)
# Every event, also of a newer sidecar.
signal heard(name, data)
# The registration is over, for ever: state is ended or superseded.
signal over(state)

const Listening = preload("res://addons/lattice_director/listening.gd")
const HEALTH_MS = 5000

# Whether `health` is called every 5 s.
var reports_health = true

var is_registered = false # or about to be

var _healthy_at = 0


func _init():
	needs_token = false
	attempt_timeout_ms = 15000 # the sidecar waits 10 s for the director
	max_backoff_ms = 2000
	set_url("http://127.0.0.1:9357")


func set_url(url):
	replicas = Replicas.new(engine, [url], "http")


# The server can take players. The offer may have endpoint, region, modes, capacity, max_sessions, labels, version, instance_id, and
# boot_id, a random text that the process makes when it starts. The same offer again changes nothing. The value is the status.
func register(offer):
	is_registered = true
	return _run("POST", "/ready", offer)


# The server lives.
func health():
	return _run("POST", "/health", {})


# How busy the server is: new sessions go to the least loaded.
func report_load(share):
	return _run("PUT", "/load", {"load": share})


# May the holder of this session token play? The value has id, sub, session_id, mode, max_players, party and team. It is not repeated
# after an attempt without an answer, because a token admits once: let the player get another. Errors: bad_token, wrong_server, replay,
# seat_gone, no_seat, session_lost, not_ready.
func admit(session_token):
	var call = new_call("POST", "/players", {"token": session_token})
	call.request.is_once = true
	return run(call)


# The player of an admission is gone. Errors: unknown_player.
func leave(id):
	return _run("DELETE", "/players/" + engine.uri_encode(id))


# The admitted players, in value.players.
func players():
	return _run("GET", "/players")


# The open sessions with their expected players, in value.sessions.
func sessions():
	return _run("GET", "/sessions")


# The match of a session is over.
func end_session(id):
	return _run("DELETE", "/sessions/" + engine.uri_encode(id))


# No more players, or players again.
func drain(drains = true):
	return _run("POST", "/drain" if drains else "/undrain", {})


# Drains, waits for the players to leave within a time such as "90s", deregisters, and ends the sidecar.
func shutdown(grace = ""):
	return _run("POST", "/shutdown", {} if grace == "" else {"grace": grace})


# The current status.
func status():
	return _run("GET", "/status")


# Emits the signals above until the registration is over. A new stream begins with the current state, so nothing is missed.
func listen():
	return run(Listening.new(self))


func _run(method, path, body = null):
	var call = new_call(method, path, body)
	call.request.may_be_empty = true
	return run(call)


# Is called once a frame, so a frozen game reports nothing.
func work():
	if reports_health and is_registered and now_ms() - _healthy_at >= HEALTH_MS:
		_healthy_at = now_ms()
		health()
