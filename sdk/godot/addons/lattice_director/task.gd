# What a program waits for. Godot 4: `var answer = await player.matchmake(request).done`. Godot 3:
# `var answer = yield(player.matchmake(request), "done")`. The answer has value, which is null after a failure, and error, which is
# null after a success.

signal done(answer)

var client
var is_over = false
var listener # another task, whose method is called in place of the signal
var listener_method = ""


# Is called once a frame.
func poll():
	pass


# Ends the call, now. Its error is of the kind cancelled.
func cancel():
	if not is_over:
		fail(client.new_error("cancelled", "", "cancelled by the program"))


# Ends the call without a signal.
func drop():
	is_over = true
	listener = null
	client.forget(self)
	release()


# Ends what the task waits for.
func release():
	pass


func succeed(value):
	_finish({"value": value, "error": null})


func fail(error):
	_finish({"value": null, "error": error})


func _finish(answer):
	if is_over:
		return
	var keep = self # nobody else may
	var told = listener
	drop()
	if told != null:
		told.call(listener_method, answer)
	keep.emit_signal("done", answer)
