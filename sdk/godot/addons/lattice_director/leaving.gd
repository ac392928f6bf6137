# Leaves a room, or declines an invitation to it.
extends "res://addons/lattice_director/task.gd"

var _id
var _inner


func _init(lobby, id):
	client = lobby
	_id = id
	_inner = client.run_for(self, "take", client.new_request("room.leave", {}, id, true))


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func take(answer):
	_inner = null
	# It may have left already, perhaps by an attempt whose answer was lost.
	if answer.error != null and not answer.error.code in ["not_a_member", "room_not_found"]:
		fail(answer.error)
		return
	client.room(_id).forget()
	succeed({})
