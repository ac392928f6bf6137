# Waits until a ticket enters another state than the known one.
extends "res://addons/lattice_director/task.gd"

const POLL_MS = 25000

var _ticket
var _known
var _pacer
var _inner
var _asked = 0
var _until = 0


func _init(for_client, ticket):
	client = for_client
	_ticket = ticket
	_known = ticket.status
	_pacer = client.new_pacer()


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func poll():
	if _known != null and _ticket.is_final(_known):
		succeed(_known)
	elif _inner == null and client.now_ms() >= _until:
		_ask()


func _ask():
	_asked = client.now_ms()
	var version = 0 if _known == null else int(_known.version)
	_inner = client.new_ticket_call("GET", "%s?wait=%ds&version=%d" % [_ticket.path(), POLL_MS / 1000, version], null, _ticket.id, POLL_MS)
	client.run_for(self, "take", _inner)


func take(answer):
	_inner = null
	if answer.error != null:
		fail(answer.error)
		return
	_ticket.status = answer.value
	if _known == null or answer.value.version != _known.version or answer.value.state != _known.state:
		succeed(answer.value)
	elif client.now_ms() - _asked >= POLL_MS / 2:
		_pacer.reset()
	else: # a replica that stops answers early
		_until = client.now_ms() + _pacer.next()
