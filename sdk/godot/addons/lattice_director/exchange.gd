# One request to one replica. Whoever owns it polls it once a frame.

enum { RUNNING, ANSWERED, STREAM_ENDED, UNREACHABLE }

const MAX_ANSWER = 1 << 20 # the director's answers have some hundred bytes
const READS_A_FRAME = 64
const METHODS = {"GET": HTTPClient.METHOD_GET, "POST": HTTPClient.METHOD_POST, "PUT": HTTPClient.METHOD_PUT, "DELETE": HTTPClient.METHOD_DELETE}

var state = RUNNING
var status = 0
var headers = {} # by their names in lower case
var text = "" # of the whole answer
var detail = "" # why it is unreachable
var is_stream = false # the answer is a stream of events, whose pieces are in `take_piece`

var _engine
var _http = HTTPClient.new()
var _request
var _wants_stream
var _has_sent = false
var _has_head = false
var _body
var _received = 0


# The request has method, path, headers (a list) and body; the base is that of a replica, see `replicas.gd`.
func _init(engine, base, request, wants_stream):
	_engine = engine
	_request = request
	_wants_stream = wants_stream
	_body = engine.no_bytes()
	if engine.connect_http(_http, base.host, base.port, base.is_secure) != OK:
		_fail("the director is not reachable")


# Returns what has arrived of a stream since the last call, as bytes.
func take_piece():
	var piece = _body
	_body = _engine.no_bytes()
	return piece


func close():
	_http.close()


func poll():
	if state != RUNNING:
		return
	_http.poll()
	match _http.get_status():
		HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
			pass
		HTTPClient.STATUS_CONNECTED:
			if _has_sent:
				_end(true)
			else:
				_send()
		HTTPClient.STATUS_BODY:
			_read()
		HTTPClient.STATUS_DISCONNECTED:
			_end(_has_head and not _http.is_response_chunked())
		_:
			_fail("the director is not reachable")


func _send():
	_has_sent = true
	if _http.request(METHODS[_request.method], _request.path, _request.headers, _request.body) != OK:
		_fail("the director is not reachable")


func _take_head():
	_has_head = true
	status = _http.get_response_code()
	for line in _http.get_response_headers():
		var colon = line.find(":")
		if colon > 0:
			headers[line.substr(0, colon).to_lower()] = line.substr(colon + 1, line.length()).strip_edges()
	is_stream = _wants_stream and status == 200 and headers.get("content-type", "").begins_with("text/event-stream")


func _read():
	if not _has_head:
		_take_head()
	for _i in range(READS_A_FRAME):
		if _http.get_status() == HTTPClient.STATUS_CONNECTED: # the connection may close in the next frame
			_end(true)
		if state != RUNNING or _http.get_status() != HTTPClient.STATUS_BODY:
			return
		var piece = _http.read_response_body_chunk()
		if piece.size() == 0:
			return
		_received += piece.size()
		_body.append_array(piece)
		if _body.size() > MAX_ANSWER:
			_fail("the answer is too long")
			return


func _end(is_whole):
	if not _has_sent:
		_fail("the director is not reachable")
		return
	if not _has_head and _http.has_response():
		_take_head()
	var length = int(headers.get("content-length", "-1"))
	if is_stream:
		state = STREAM_ENDED
	elif not is_whole or status == 0 or (length >= 0 and _received < length and status != 204):
		_fail("the director is not reachable")
	else:
		text = _body.get_string_from_utf8()
		state = ANSWERED
	_http.close()


func _fail(why):
	detail = why
	state = UNREACHABLE
	_http.close()
