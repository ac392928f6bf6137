# A room of the lobby. The same object for as long as the client lives, whether it is a member or not.

signal state_changed()
# A message: type, data, and from, the session that sent it.
signal message_received(message)
# A session has joined, left, dropped or reconnected (what): who.client_id, and who.reason of one that has left.
signal presence_changed(what, who)

var id = "" # such as "party:7f3a"
var type = "" # with which the client joined; empty before
var state = {} # empty while the client is no member
var sessions = [] # in the room, sorted
var seq = 0 # counts the changes of the state; 0: the client is no member
var join_options = null # null: the client did not join

var _lobby
var _heard = [-1, 0] # the last message


func _init(lobby, room_id):
	_lobby = lobby
	id = room_id


# The members of a party, a lobby or a match: session, name, ready, team, away, data.
func members():
	var all = []
	for key in state:
		if key.begins_with("m:") and typeof(state[key]) == TYPE_DICTIONARY:
			var member = state[key].duplicate()
			member.session = key.substr(2, key.length())
			all.append(member)
	return all


# This client as a member; null if it is none.
func me():
	for member in members():
		if member.session == _lobby.session:
			return member
	return null


# Whether this client owns the party or the lobby.
func is_owner():
	return _lobby.session != "" and state.get("owner") == _lobby.session


# Such as "open" and "queued".
func phase():
	return state.get("phase", "")


# Sends a message and waits until the room has accepted it. It is not repeated. Types of the game's own begin with "x.".
func send(message_type, data = {}):
	return _message(message_type, data, false)


# Sends a line of chat, a message of the type "say".
func say(text):
	return send("say", {"text": text})


# Invites a player, by the sub of its token, for 5 minutes. value.reached is how many of its connections that has reached.
func invite(player):
	return _message("invite", {"player": player}, true)


# In a lobby. A change takes all members out of the queue.
func set_ready(is_ready):
	return _message("ready", {"ready": is_ready}, true)


# In a lobby: a text or a number; null takes it back.
func set_team(team):
	return _message("team", {"team": team}, true)


# Changes a setting of a lobby; null deletes it. For the owner.
func set_setting(key, value):
	return _message("set", {"key": key, "value": value}, true)


# Removes a member. For the owner.
func kick(session):
	return send("kick", {"session": session})


# The members of a party queue together: room_type, size, attributes, latencies. For the owner.
func queue(request):
	return send("queue", request)


# The members of a lobby queue together, if all are ready and connected. For the owner.
func start(request = {}):
	return send("start", request)


# Takes the members out of the queue.
func cancel_queue():
	return _message("cancel", {}, true)


# Returns what is needed to connect to the game server of a match: endpoint and session_token. Errors: refused for a match without one.
func resolve():
	return _lobby.request("match.resolve", {}, id, true)


# Leaves the room, or declines an invitation to it.
func leave():
	return _lobby.leave(id)


func _message(message_type, data, may_repeat):
	return _lobby.request("room.message", {"type": message_type, "data": data}, id, may_repeat)


# Takes a snapshot or a patch, and returns the type of the answer that the director must get; null: none. For the client.
func take_state(frame_type, p):
	var next_seq = int(p.get("seq", 0))
	if frame_type == "state.snapshot":
		if typeof(p.get("state")) != TYPE_DICTIONARY:
			return null
		state = p.state
	else:
		if seq == 0 or next_seq > seq + 1:
			return "state.resync"
		if next_seq <= seq: # a snapshot had it
			return null
		state = state.duplicate()
		for op in p.get("ops", []):
			var key = op.path.substr(1, op.path.length()).replace("~1", "/").replace("~0", "~")
			if op.op == "del":
				state.erase(key)
			else:
				state[key] = op.get("value")
	seq = next_seq
	emit_signal("state_changed")
	return "state.ack"


# Takes a message, unless the room has heard it before its connection ended. For the client.
func take_message(message):
	var numbers = str(message.get("id", "0.0")).split(".")
	var position = [int(numbers[0]), int(numbers[1]) if numbers.size() > 1 else 0]
	var is_heard = position[0] < _heard[0] or (position[0] == _heard[0] and position[1] <= _heard[1])
	if message.get("repeated", false) and is_heard:
		return
	if not is_heard:
		_heard = position
	emit_signal("message_received", message)


# The client is no member any more. For the client.
func forget():
	_heard = [-1, 0]
	state = {}
	sessions = []
	seq = 0
	join_options = null
