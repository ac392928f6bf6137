# What the clients of players, of game servers and of the lobby share: replicas, tokens, errors, and the tasks that run.
extends Node

# An attempt failed and is repeated after a pause in seconds: for logs and for "reconnecting…". The error has no token and no handle.
signal retried(error, pause)

const Replicas = preload("res://addons/lattice_director/replicas.gd")
const Cells = preload("res://addons/lattice_director/cells.gd")
const Pacer = preload("res://addons/lattice_director/pacer.gd")
const Call = preload("res://addons/lattice_director/call.gd")
const MAX_TEXT = 1000 # what a stranger sends must not fill a log
const VERSION = "0.1.0" # that of the director with which the add-on was released

# Bounds one request to one replica, so that one that hangs does not hold up the call.
var attempt_timeout_ms = 5000
# The first pause between attempts. Pauses double up to the longest; each varies by half.
var first_backoff_ms = 250
var max_backoff_ms = 30000

var engine = load("res://addons/lattice_director/engine%d.gd" % Engine.get_version_info().major).new()
var replicas
var cells = Cells.new()
var needs_token = true

var _token = ""
var _login # whose method returns tokens; null: the token is a text
var _login_method = ""
var _refreshing = [] # tasks that wait for one new token
var _tasks = []


func _process(_delta):
	for task in _tasks.duplicate():
		if not task.is_over:
			task.poll()
	work()


# Is called once a frame.
func work():
	pass


# A node that leaves the tree asks for nothing any more.
func _exit_tree():
	for task in _tasks.duplicate():
		task.drop()
	leave_tree()


# Is called when the node leaves the tree.
func leave_tree():
	pass


# The access token of the player, for as long as it is valid.
func set_token(token):
	_token = token
	_login = null


# An object whose method (refresh, receiver) passes the access token, at once or later: receiver.use_token("…"). It is called before
# each attempt, so it should keep a valid token. With refresh the director has just refused that token: get a new one.
func set_login(login, method):
	_login = login
	_login_method = method


func can_refresh():
	return _login != null


# Passes the token to a task, or to this client, which shares a new one among all that were refused together.
func pass_token(refresh, receiver):
	if _login == null:
		receiver.use_token(_token)
	elif not refresh:
		_login.call(_login_method, false, receiver)
	else:
		_refreshing.append(receiver)
		if _refreshing.size() == 1:
			_login.call(_login_method, true, self)


# Is called with a new token, by the login.
func use_token(token):
	var waiting = _refreshing
	_refreshing = []
	for receiver in waiting:
		receiver.use_token(token)


# Runs a task until it is over.
func run(task):
	_tasks.append(task)
	return task


# Runs a task for another one.
func run_for(listener, method, task):
	task.listener = listener
	task.listener_method = method
	return run(task)


func forget(task):
	_tasks.erase(task)
	_refreshing.erase(task)


func now_ms():
	return engine.now_ms()


func new_pacer():
	return Pacer.new(first_backoff_ms, max_backoff_ms)


# Returns the pause in milliseconds, and tells the program.
func note_retry(error, pacer):
	var pause = pacer.next_after(error)
	emit_signal("retried", error, pause / 1000.0)
	return pause


# Is called before each request, for tests.
func note_request(_base, _request):
	pass


# A key that no other call has, also not one of the same player before the game was started again.
func new_key():
	return Crypto.new().generate_random_bytes(16).hex_encode()


func new_call(method, path, body = null):
	return Call.new(self, {"method": method, "path": path, "headers": [], "body": "" if body == null else engine.to_json_text(body)})


# Returns a document; null for a text that is no object.
func parse_object(text):
	if text == "":
		return null
	var document = engine.parse_json(text)
	return document if typeof(document) == TYPE_DICTIONARY else null


# An error: kind is refused (branch on code, and on status where that is empty), unreachable (calls repeat it), unreadable (no director
# sends that), uncertain and ended (of the lobby), cancelled, or invalid (the options cannot work).
func new_error(kind, call_name, detail):
	return {"kind": kind, "call": call_name, "status": 0, "code": "", "detail": detail, "hint": "", "fields": [], "request_id": "",
		"retry_after": null, "servers_starting": null, "ticket_id": "", "region": "", "address": "",
		"message": (call_name + ": " if call_name != "" else "") + detail}


func refusal_of(call_name, status, headers, document):
	var problem = document if document != null else {}
	var error = new_error("refused", call_name, text_of(problem, "detail", text_of(problem, "title")))
	error.status = status
	error.code = text_of(problem, "code")
	error.request_id = str(headers.get("x-request-id", "")).substr(0, MAX_TEXT)
	error.ticket_id = text_of(problem, "ticket_id")
	error.region = text_of(problem, "region") # with region_elsewhere: which another cell serves, at the address; it is followed
	error.address = text_of(problem, "address")
	error.message = "%s: %d %s %s" % [call_name, status, error.code, error.detail]
	error.retry_after = _seconds(headers.get("retry-after", ""))
	if typeof(problem.get("servers_starting")) == typeof(1.0):
		error.servers_starting = int(problem.servers_starting)
	if typeof(problem.get("errors")) == TYPE_ARRAY:
		for field in problem.errors:
			if typeof(field) == TYPE_DICTIONARY:
				error.fields.append({"field": text_of(field, "field"), "detail": text_of(field, "detail")})
	return error


# Returns a whole number; null for any other text.
func _seconds(text):
	if text == "" or text.length() > 9:
		return null
	for digit in text:
		if not digit in "0123456789":
			return null
	return int(text)


# Returns a text of a document of a stranger.
func text_of(document, key, otherwise = ""):
	var value = document.get(key)
	return value.substr(0, MAX_TEXT) if typeof(value) == TYPE_STRING else otherwise
