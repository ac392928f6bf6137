# A call whose answer must have some fields; else the address is probably another program's.
extends "res://addons/lattice_director/task.gd"

var _inner
var _fields
var _id


# With an id, the answer must be the ticket with it.
func start(for_client, call, fields, id):
	client = for_client
	_fields = fields
	_id = id
	_inner = client.run_for(self, "take", call)
	return self


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func take(answer):
	var name = _inner.call_name()
	_inner = null
	if answer.error != null:
		fail(answer.error)
		return
	for field in _fields:
		if not answer.value.has(field) or answer.value[field] == null:
			fail(client.new_error("unreadable", name, "the answer lacks " + field))
			return
	if _id != "" and answer.value.ticket_id != _id:
		fail(client.new_error("unreadable", name, "the answer is another ticket"))
		return
	succeed(answer.value)
