# Parses a stream of server-sent events whose lines end with \n or \r\n, as the director ends them. It holds at most one line and the data of one event.

var is_too_long = false # the stream is useless

var _engine
var _most
var _rest # bytes of a line that is not whole
var _name = ""
var _data = []
var _size = 0


# Bounds a line, and the data of an event, in bytes.
func _init(engine, most = 64 << 10):
	_engine = engine
	_most = most
	_rest = engine.no_bytes()


# Takes a piece of the stream and returns the events that it completes, each with name and data.
func push(piece):
	_rest.append_array(piece)
	var found = []
	var last = _rest.size() - 1
	while last >= 0 and _rest[last] != 10:
		last -= 1
	if last < 0:
		is_too_long = is_too_long or _rest.size() > _most
		return found
	# Whole lines only, so that no character is cut.
	var lines = _engine.slice(_rest, 0, last).get_string_from_utf8().replace("\r", "").split("\n")
	_rest = _engine.slice(_rest, last + 1, _rest.size())
	for line in lines:
		is_too_long = is_too_long or line.length() > _most or _rest.size() > _most
		if is_too_long:
			return found
		_take_line(line, found)
	return found


func _take_line(line, found):
	if line == "":
		if _data.size() > 0:
			found.append({"name": _name, "data": _join(_data)})
		_name = ""
		_data = []
		_size = 0
		return
	var colon = line.find(":")
	var field = line if colon < 0 else line.substr(0, colon)
	var value = "" if colon < 0 else line.substr(colon + 1, line.length())
	if value.begins_with(" "):
		value = value.substr(1, value.length())
	if field == "event":
		_name = value
	if field == "data":
		_data.append(value)
		_size += value.length() + 1
		is_too_long = is_too_long or _size > _most


func _join(parts):
	var text = parts[0]
	for i in range(1, parts.size()):
		text += "\n" + parts[i]
	return text
