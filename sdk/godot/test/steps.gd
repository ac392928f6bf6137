# The steps of the scenarios of test/peertest, which come as lines of JSON over the connection to DIRECTOR_STEPS. Runs on Godot 3 and 4:
#   godot --no-window --path . -s steps.gd
extends SceneTree

const Player = preload("res://addons/lattice_director/player.gd")
const Sidecar = preload("res://addons/lattice_director/sidecar.gd")
const Lobby = preload("res://addons/lattice_director/lobby.gd")

var engine = load("res://addons/lattice_director/engine%d.gd" % Engine.get_version_info().major).new()
var connect_signal = load("res://connect%d.gd" % Engine.get_version_info().major).new()
var tests = StreamPeerTCP.new()
var received = engine.no_bytes()
var answer_to_test = null
var players = {}
var lobbies = {}
var background = {}
var server = null
var server_events = []
var server_over = null


func _init():
	var address = OS.get_environment("DIRECTOR_STEPS").split(":")
	tests.connect_to_host(address[0], int(address[1]))


func _idle(_delta): # Godot 3
	take_step()


func _process(_delta): # Godot 4
	take_step()
	return false


func take_step():
	if tests.has_method("poll"):
		tests.poll()
	if tests.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		if tests.get_status() != StreamPeerTCP.STATUS_CONNECTING:
			quit()
		return
	var available = tests.get_available_bytes()
	if available > 0:
		received.append_array(tests.get_data(available)[1])
	var end = -1
	for i in range(received.size()):
		if received[i] == 10:
			end = i
			break
	if end >= 0:
		var line = engine.slice(received, 0, end).get_string_from_utf8()
		received = engine.slice(received, end + 1, received.size())
		var request = engine.parse_json(line)
		run(request.step, request.args, Answer.new(self))


func send(answer):
	tests.put_data(engine.to_utf8(engine.to_json_text(answer) + "\n"))


# What the tests see of an error.
static func describe(error, is_of_lobby = false):
	var names = {"refused": "LobbyError" if is_of_lobby else "DirectorError", "unreachable": "UnreachableError", "unreadable": "UnreadableError",
		"uncertain": "UncertainError", "ended": "EndedError", "cancelled": "AbortError", "invalid": "TypeError"}
	var about = {"name": names[error.kind], "message": error.message, "call": error.call, "status": error.status, "code": error.code}
	if error.retry_after != null:
		about.retryAfter = error.retry_after
	return about


# What a step returns, once: to the tests, or to the step that waits for it.
class Answer:
	var steps
	var is_of_lobby = false
	var settled = null
	var waiting = null

	func _init(all_steps):
		steps = all_steps

	func value(result):
		settle({"value": result})

	func take(answer):
		if answer.error != null:
			settle({"error": steps.describe(answer.error, is_of_lobby)})
		else:
			value(answer.value)

	func take_removed(answer):
		take({"error": answer.error, "value": answer.error == null and answer.value.removed})

	func take_end(error):
		take({"error": error, "value": null})

	func settle(result):
		if waiting != null:
			waiting.settle(result)
		elif settled == null and is_background():
			settled = result
		else:
			steps.send(result)

	var background_id = ""

	func is_background():
		return background_id != ""

	func then(other):
		if settled != null:
			other.settle(settled)
		else:
			waiting = other


class PlayerSteps:
	var steps
	var sdk
	var ticket = null
	var tokens
	var refreshed = 0
	var is_aborted = false
	var retries = []
	var states = []
	var streams = []
	var watched = null
	var running = []

	func _init(all_steps, args):
		steps = all_steps
		tokens = args.tokens
		sdk = NotingPlayer.new()
		sdk.noted = self
		sdk.max_backoff_ms = 1000
		sdk.set_urls(args.urls)
		sdk.set_login(self, "log_in")
		steps.connect_signal.on(sdk, "retried", self, "note_retry")
		steps.get_root().call_deferred("add_child", sdk)

	func log_in(refresh, receiver):
		if refresh:
			refreshed += 1
			tokens.pop_front()
		receiver.use_token(tokens[0])

	func note_retry(error, _pause):
		retries.append(steps.describe(error))

	func note_state(status):
		states.append(status)

	func follow(new_ticket):
		ticket = new_ticket
		steps.connect_signal.on(ticket, "changed", self, "note_state")
		steps.connect_signal.on(ticket, "ended", self, "note_end")

	func note_end(error):
		watched.take_end(error)

	func take_ticket(answer):
		var waiting = queueing
		if answer.error == null:
			follow(sdk.ticket_of(answer.value))
		waiting.take(answer)

	var queueing = null

	func abort():
		is_aborted = true
		for task in running:
			task.cancel()
		if ticket != null and ticket._watch != null:
			ticket._watch.cancel()


class NotingPlayer:
	extends "res://addons/lattice_director/player.gd"

	var noted = null

	func note_request(base, request):
		if request.path.ends_with("/events"):
			var resumed = ""
			for header in request.headers:
				if header.begins_with("Last-Event-ID: "):
					resumed = header.substr(15, header.length())
			noted.streams.append({"base": base.url, "resumed": resumed})


class LobbySteps:
	var steps
	var lobby
	var tokens = []
	var events = []
	var said = []
	var listened = {}
	var opening = null

	func _init(all_steps):
		steps = all_steps

	func log_in(refresh, receiver):
		if refresh:
			tokens.pop_front()
		receiver.use_token(tokens[0])

	func note(kind, event):
		var about = event.duplicate()
		about.kind = kind
		events.append(about)

	func take_open(answer):
		if answer.error == null:
			for kind in ["connected", "disconnected", "ended", "invited", "match_found"]:
				steps.connect_signal.on(lobby, kind, self, "note_" + kind)
			answer = {"error": null, "value": {"session": answer.value, "connected": true}}
		is_first = true
		opening.take(answer)

	var is_first = false

	func note_connected(url, is_resumed):
		if is_first: # of the connection that open waited for
			is_first = false
			return
		note("connected", {"url": url, "session": lobby.session, "resumed": is_resumed})

	func note_disconnected(code):
		note("disconnected", {"code": code})

	func note_ended(error):
		note("ended", steps.describe(error, true))

	func note_invited(event):
		note("invited", event)

	func note_match_found(event):
		note("match", event)

	func take_room(answer):
		if answer.error == null:
			var room = answer.value
			if not listened.has(room.id):
				listened[room.id] = RoomSteps.new(self, room)
			answer = {"error": null, "value": describe_room(room)}
		joining.take(answer)

	var joining = null

	func describe_room(room):
		return {"id": room.id, "type": room.type, "state": room.state, "seq": room.seq, "sessions": room.sessions, "members": room.members(),
			"me": room.me(), "isOwner": room.is_owner()}


class RoomSteps:
	var lobby_steps
	var room_id

	func _init(all_lobby_steps, room):
		lobby_steps = all_lobby_steps
		room_id = room.id
		lobby_steps.steps.connect_signal.on(room, "message_received", self, "note_message")
		lobby_steps.steps.connect_signal.on(room, "presence_changed", self, "note_presence")

	func note_message(message):
		lobby_steps.said.append({"room": room_id, "type": message.type, "data": message.get("data"), "from": message.get("from", "")})

	func note_presence(what, who):
		if what == "left":
			var about = who.duplicate()
			about.room = room_id
			lobby_steps.note("left", about)


func run(step, args, answer):
	match step:
		"player":
			players[args.player] = PlayerSteps.new(self, args)
			answer.value(null)
		"begin":
			var later = Answer.new(self)
			later.background_id = args.id
			background[args.id] = later
			run(args.step, args.args, later)
			answer.value(null)
		"end":
			background[args.id].then(answer)
		"server", "serverEvents", "serverOver", "serverCall":
			run_server(step, args, answer)
		_:
			if step.begins_with("lobby") or step.begins_with("room"):
				run_lobby(step, args, answer)
			else:
				run_player(step, args, players[args.player], answer)


func wait_for(task, receiver, method):
	task.listener = receiver
	task.listener_method = method
	return task


func run_player(step, args, p, answer):
	match step:
		"states":
			answer.value(p.states)
		"retries":
			answer.value(p.retries)
		"streams":
			answer.value(p.streams)
		"refreshed":
			answer.value(p.refreshed)
		"watched":
			p.watched.then(answer)
		"ticket":
			p.follow(p.sdk.ticket(args.id))
			answer.value(null)
		"abort":
			p.abort()
			answer.value(null)
		"watch":
			p.states = []
			p.watched = Answer.new(self)
			p.watched.background_id = "watch"
			p.ticket.watch()
			answer.value(null)
		_:
			if p.is_aborted:
				answer.take_end(p.sdk.new_error("cancelled", step, ""))
				return
			p.running.append(call_player(step, args, p, answer))


func call_player(step, args, p, answer):
	match step:
		"matchmake":
			return wait_for(p.sdk.matchmake(args.request), answer, "take")
		"seat":
			return wait_for(p.sdk.seat(args.request, args.get("awaitServers", false)), answer, "take")
		"resolve":
			return wait_for(p.sdk.resolve(args.handle), answer, "take")
		"session":
			return wait_for(p.sdk.session(args.session), answer, "take")
		"queue":
			p.queueing = answer
			return wait_for(p.sdk.queue(args.request), p, "take_ticket")
	var asked = "" if p.states.size() == 0 else p.states[p.states.size() - 1].get("match_id", "") # in the state that the player sees
	match args.method:
		"accept":
			return wait_for(p.ticket.accept(asked), answer, "take")
		"decline":
			return wait_for(p.ticket.decline(asked), answer, "take")
		"cancel":
			return wait_for(p.ticket.cancel(), answer, "take")
		"next":
			return wait_for(p.ticket.next(), answer, "take")
	return wait_for(p.ticket.read(), answer, "take")


func note_server_event(name, data):
	server_events.append({"name": name, "data": data})


func note_server_over(state):
	server_over.value(state)


func run_server(step, args, answer):
	match step:
		"serverEvents":
			answer.value(server_events)
		"serverOver":
			server_over.then(answer)
		"serverCall":
			wait_for(call_server(args.call, args.args), answer, "take")
		_:
			server = Sidecar.new()
			server.reports_health = false
			server.set_url(args.url)
			server_over = Answer.new(self)
			server_over.background_id = "over"
			connect_signal.on(server, "heard", self, "note_server_event")
			connect_signal.on(server, "over", self, "note_server_over")
			get_root().call_deferred("add_child", server)
			server.listen()
			answer.value(null)


func call_server(name, args):
	match name:
		"ready":
			return server.register(args.about)
		"health":
			return server.health()
		"load":
			return server.report_load(args.load)
		"admit":
			return server.admit(args.token)
		"leave":
			return server.leave(args.id)
		"players":
			return server.players()
		"sessions":
			return server.sessions()
		"end":
			return server.end_session(args.session)
		"drain":
			return server.drain()
		"undrain":
			return server.drain(false)
	return server.shutdown(args.grace)


func run_lobby(step, args, answer):
	answer.is_of_lobby = true
	if not lobbies.has(args.player):
		lobbies[args.player] = LobbySteps.new(self)
	var l = lobbies[args.player]
	match step:
		"lobby":
			open_lobby(l, args, answer)
		"lobbyURL":
			answer.value(l.lobby.url)
		"lobbySaid":
			answer.value(l.said)
		"lobbyEvents":
			var found = []
			for event in l.events:
				if event.kind == args.kind:
					found.append(event)
			answer.value(found)
		"roomSeen":
			answer.value(l.describe_room(l.lobby.room(args.room)))
		"lobbyCall":
			call_lobby(l, args.method, args.get("args"), answer)
		"roomCall":
			wait_for(call_room(l.lobby.room(args.room), args.method, args.get("args")), answer, "take")


func open_lobby(l, args, answer):
	l.lobby = Lobby.new()
	l.lobby.max_backoff_ms = 1000
	l.lobby.session = args.get("session", "")
	l.lobby.set_urls(args.urls)
	l.lobby.set_token(args.tokens[0])
	if args.tokens.size() > 1:
		l.tokens = args.tokens
		l.lobby.set_login(l, "log_in")
	l.opening = answer
	get_root().call_deferred("add_child", l.lobby)
	wait_for(l.lobby.open(), l, "take_open")


func argument(args, i):
	return args[i] if args != null and i < args.size() else null


func options(args, i):
	var value = argument(args, i)
	return value if value != null else {}


func call_lobby(l, method, args, answer):
	match method:
		"list":
			wait_for(l.lobby.request("room.list", args[0], "", true), answer, "take")
			return
		"enqueue":
			wait_for(l.lobby.request("matchmaking.enqueue", args[0], "", true), answer, "take")
			return
		"dequeue":
			wait_for(l.lobby.request("matchmaking.dequeue", {}, "", true), answer, "take_removed")
			return
	l.joining = answer
	var joining = null
	match method:
		"createParty":
			joining = l.lobby.create_party(options(args, 0))
		"createLobby":
			joining = l.lobby.create_lobby(options(args, 0))
		"joinMatch":
			joining = l.lobby.join_match(args[0], options(args, 1))
		_:
			joining = l.lobby.join(args[0], "" if argument(args, 1) == null else args[1], options(args, 2))
	wait_for(joining, l, "take_room")


func call_room(room, method, args):
	match method:
		"invite":
			return room.invite(args[0])
		"say":
			return room.say(args[0])
		"queue":
			return room.queue(args[0])
		"start":
			return room.start(args[0])
		"cancelQueue":
			return room.cancel_queue()
		"leave":
			return room.leave()
		"set":
			return room.set_setting(args[0], args[1])
		"team":
			return room.set_team(args[0])
		"ready":
			return room.set_ready(args[0])
		"kick":
			return room.kick(args[0])
		"lock":
			return room.send("lock", {"locked": args[0]})
		"countdown":
			return room.send("countdown", {"seconds": args[0]})
		"giveOwnership":
			return room.send("owner", {"session": args[0]})
	return room.resolve()
