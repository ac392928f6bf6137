# Calls matchmake and then resolve, until the player has a seat.
extends "res://addons/lattice_director/task.gd"

var _request
var _awaits_servers
var _pacer
var _inner
var _match
var _until = 0


func _init(for_client, request, awaits_servers):
	client = for_client
	_request = request
	_awaits_servers = awaits_servers
	_pacer = client.new_pacer()


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func poll():
	if _inner == null and client.now_ms() >= _until:
		_inner = client.new_matchmake(_request)
		client.run_for(self, "take_match", _inner)


func take_match(answer):
	_inner = null
	if answer.error != null:
		_judge(answer.error)
		return
	_match = answer.value
	_inner = client.new_resolve(_match.session_handle, client.text_of(_match, "region"))
	client.run_for(self, "take_connection", _inner)


func take_connection(answer):
	_inner = null
	if answer.error != null:
		_judge(answer.error)
		return
	for field in answer.value: # newer than the match, which may be a stored answer
		_match[field] = answer.value[field]
	succeed(_match)


func _judge(error):
	var starts_again = error.code in ["no_capacity", "no_seat", "session_unknown", "session_closed"]
	if error.kind != "refused" or not (starts_again or (_awaits_servers and error.code in ["mode_unknown", "region_unknown"])):
		fail(error)
		return
	if error.servers_starting != null:
		_pacer.reset() # the director forgets players who ask too late
	_until = client.now_ms() + client.note_retry(error, _pacer)
