# Godot 4: queues, accepts the match and says where to connect. Paste the access token of `director token mint`.
extends Node

@export var director := "http://127.0.0.1:8080"
@export var access_token := ""
@export var profile := "first"

var player := LatticePlayer.new()
var ticket


func _ready():
	add_child(player)
	player.set_urls([director])
	player.set_login(self, "log_in")
	var queued = await player.queue({"profiles": [profile]}).done
	if queued.error:
		print(queued.error.code, ": ", queued.error.detail)
		return
	ticket = player.ticket_of(queued.value)
	ticket.changed.connect(show_status)
	ticket.watch()


# Your login's: it may pass the token later, as after a request of its own.
func log_in(_refresh, receiver):
	receiver.use_token(access_token)


func show_status(status):
	print(status.state, ", place ", status.get("place", "unknown"))
	if status.state == "accepting":
		ticket.accept(status.match_id)
	if status.state == "assigned":
		var connection = await player.resolve(status.session_handle).done
		if not connection.error:
			print("connect to ", connection.value.endpoint, " and send connection.value.session_token first")
