# Follows the events of a sidecar until the registration is over.
extends "res://addons/lattice_director/task.gd"

var _pacer
var _inner
var _until = 0


func _init(for_client):
	client = for_client
	_pacer = client.new_pacer()


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func poll():
	if _inner == null and client.now_ms() >= _until:
		_inner = client.new_call("GET", "/events")
		_inner.is_stream = true
		_inner.max_event = 1 << 20 # it may have the players of all sessions
		client.run_for(self, "take_end", _inner)


func take_event(event):
	var data = client.parse_object(event.data)
	if data == null:
		return false
	_pacer.reset()
	client.emit_signal("heard", event.name, data)
	match event.name:
		"kick":
			client.emit_signal("kicked", data.get("id", ""), data.get("reason", ""))
		"players":
			client.emit_signal("admitted", data.get("players", []))
		"sessions":
			client.emit_signal("sessions_changed", data.get("sessions", []))
		"status":
			client.emit_signal("status_changed", data)
			if not is_over and data.get("state", "") in ["ended", "superseded"]:
				var listening_client = client
				listening_client.is_registered = false
				succeed(data)
				listening_client.emit_signal("over", data.state)
	return true


func take_end(answer):
	_inner = null
	if not _pacer.repeats(answer.error):
		fail(answer.error)
		return
	_until = client.now_ms() + client.note_retry(answer.error, _pacer)
