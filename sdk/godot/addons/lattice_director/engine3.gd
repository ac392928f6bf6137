# What Godot 3 spells differently from Godot 4. The other files of the add-on run on both; this one is loaded on Godot 3 only.
extends Reference


func parse_json(text):
	var parsed = JSON.parse(text)
	return parsed.result if parsed.error == OK else null


func to_json_text(value):
	return JSON.print(value)


func now_ms():
	return OS.get_ticks_msec()


func to_utf8(text):
	return text.to_utf8()


func uri_encode(text):
	return text.http_escape()


# Returns the bytes from one position to before another.
func slice(bytes, from, to):
	return bytes.subarray(from, to - 1) if to > from else PoolByteArray()


func no_bytes():
	return PoolByteArray()


# Connects over TLS with the certificate verified, or without TLS.
func connect_http(http, host, port, is_secure):
	return http.connect_to_host(host, port, is_secure, true)


func new_socket():
	return Socket.new()


# A WebSocket with the few calls that the add-on needs.
class Socket:
	extends Reference

	var close_code = 1006
	var _client = WebSocketClient.new()
	var _is_open = false
	var _is_closed = false

	func _init():
		_client.connect("connection_established", self, "_on_open")
		_client.connect("connection_error", self, "_on_error")
		_client.connect("connection_closed", self, "_on_closed")
		_client.connect("server_close_request", self, "_on_close_request")
		_client.verify_ssl = true

	func open(url):
		_client.set_buffers(1024, 1024, 256, 1024)
		if _client.connect_to_url(url) != OK:
			_is_closed = true

	func poll():
		if not _is_closed:
			_client.poll()

	func is_open():
		return _is_open and not _is_closed

	func is_closed():
		return _is_closed

	func send(text):
		var peer = _client.get_peer(1)
		peer.set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
		peer.put_packet(text.to_utf8())

	# Returns the next text; null if there is none.
	func receive():
		if not _is_open or not _client.get_peer(1).get_available_packet_count():
			return null
		return _client.get_peer(1).get_packet().get_string_from_utf8()

	func close():
		if not _is_closed:
			_client.disconnect_from_host()
		_is_closed = true

	func _on_open(_protocol):
		_is_open = true

	func _on_error():
		_is_closed = true

	func _on_closed(_was_clean):
		_is_closed = true

	func _on_close_request(code, _reason):
		close_code = code
