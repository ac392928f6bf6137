# What Godot 4 spells differently from Godot 3. The other files of the add-on run on both; this one is loaded on Godot 4 only.
extends RefCounted


func parse_json(text):
	var json = JSON.new()
	return json.data if json.parse(text) == OK else null


func to_json_text(value):
	return JSON.stringify(value)


func now_ms():
	return Time.get_ticks_msec()


func to_utf8(text):
	return text.to_utf8_buffer()


func uri_encode(text):
	return text.uri_encode()


# Returns the bytes from one position to before another.
func slice(bytes, from, to):
	return bytes.slice(from, to)


func no_bytes():
	return PackedByteArray()


# Connects over TLS with the certificate verified, or without TLS.
func connect_http(http, host, port, is_secure):
	return http.connect_to_host(host, port, TLSOptions.client() if is_secure else null)


func new_socket():
	return Socket.new()


# A WebSocket with the few calls that the add-on needs.
class Socket:
	extends RefCounted

	var close_code = 1006
	var _peer = WebSocketPeer.new()
	var _failed = false

	func open(url):
		_peer.inbound_buffer_size = 1 << 20
		_peer.outbound_buffer_size = 1 << 20
		_failed = _peer.connect_to_url(url) != OK

	func poll():
		if _failed:
			return
		_peer.poll()
		if _peer.get_ready_state() == WebSocketPeer.STATE_CLOSED and _peer.get_close_code() > 0:
			close_code = _peer.get_close_code()

	func is_open():
		return not _failed and _peer.get_ready_state() == WebSocketPeer.STATE_OPEN

	func is_closed():
		return _failed or _peer.get_ready_state() == WebSocketPeer.STATE_CLOSED

	func send(text):
		_peer.send_text(text)

	# Returns the next text; null if there is none.
	func receive():
		if _failed or _peer.get_available_packet_count() == 0:
			return null
		return _peer.get_packet().get_string_from_utf8()

	func close():
		_failed = true
		_peer.close()
