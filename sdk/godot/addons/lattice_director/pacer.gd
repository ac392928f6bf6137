# Says how long to wait before the next attempt, in milliseconds: a backoff that doubles and varies by half, plus the last answer's
# Retry-After of at most a minute. The sum and not the larger one: otherwise all clients that got the same Retry-After would return
# together.

var _first
var _most
var _interval
var _internal_errors = 0
var _chance = RandomNumberGenerator.new() # the game's own numbers stay as it has seeded them


func _init(first, most):
	_first = first
	_most = most
	_interval = first
	_chance.randomize()


func next():
	var pause = _interval * (0.5 + _chance.randf())
	_interval = min(2 * _interval, _most)
	return pause


func next_after(error):
	var least = 1 if error.code == "no_capacity" else 0 # capacity does not come back within a moment
	var asked = least if error.retry_after == null else error.retry_after
	return min(asked, 60) * 1000 + next()


func reset():
	_interval = _first


# Decides whether a call is repeated. An internal error is repeated once.
func repeats(error):
	if error.kind == "unreachable":
		return true
	if error.kind != "refused":
		return false
	if error.status == 500:
		_internal_errors += 1
		return _internal_errors == 1
	return error.status in [408, 429, 502, 503, 504]
