# Godot 4: a dedicated server beside `director sidecar`. Call join with what a player sends first, and leave when it disconnects.
extends Node

@export var endpoint := "127.0.0.1:7777"

var sidecar := LatticeSidecar.new()
var players := {} # subs by the id of their admission
var offer


func _ready():
	add_child(sidecar)
	offer = {"endpoint": endpoint, "region": "local", "modes": ["duel"], "capacity": 64, "boot_id": sidecar.new_key()}
	sidecar.kicked.connect(func(id, _reason): players.erase(id)) # and close its connection
	sidecar.status_changed.connect(follow_status)
	sidecar.over.connect(func(_state): get_tree().quit())
	await sidecar.register(offer).done
	sidecar.listen()


func follow_status(status):
	if status.state == "unhealthy":
		sidecar.register(offer) # the game was frozen, and goes on
	if status.unwanted:
		sidecar.shutdown()


func join(session_token):
	var answer = await sidecar.admit(session_token).done
	if answer.error:
		print("refused: ", answer.error.code)
	else:
		players[answer.value.id] = answer.value.sub


func leave(id):
	if players.erase(id):
		sidecar.leave(id)
