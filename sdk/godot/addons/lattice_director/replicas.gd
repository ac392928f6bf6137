# The base URLs of the replicas by turns, without those that failed within the last 2 s, about the time of a restart. It starts
# at a random one, so that clients that start together do not all call the same.

const COOLDOWN_MS = 2000

var error = "" # why the URLs cannot work; it never quotes them, since a wrong one may have a password

var _engine
var _all = []
var _turn = 0


func _init(engine, urls, scheme):
	_engine = engine
	for url in urls:
		var base = parse(str(url).strip_edges(), scheme)
		if base == null:
			error = "urls: want %s(s)://host[:port][/prefix], without a user or a query" % scheme
			return
		_all.append(base)
	if _all.size() == 0:
		error = "urls: want the URL of at least one replica"
		return
	var chance = RandomNumberGenerator.new() # the game's own numbers stay as it has seeded them
	chance.randomize()
	_turn = chance.randi() % _all.size()


func count():
	return _all.size()


# Returns the next replica that is not skipped, else the one that is skipped for the shortest. It has url, host, port,
# is_secure and prefix.
func pick():
	var now = _engine.now_ms()
	var best = _turn
	for i in range(_all.size()):
		var next = (_turn + i) % _all.size()
		if _all[next].skip_until <= now:
			best = next
			break
		if _all[next].skip_until < _all[best].skip_until:
			best = next
	_turn = (best + 1) % _all.size()
	return _all[best]


func note_failure(base):
	base.skip_until = _engine.now_ms() + COOLDOWN_MS


# Returns a URL in its parts; null for one that cannot work.
func parse(url, scheme):
	var is_secure = url.begins_with(scheme + "s://")
	if not is_secure and not url.begins_with(scheme + "://"):
		return null
	for forbidden in ["@", "?", "#", " "]:
		if forbidden in url:
			return null
	while url.ends_with("/"):
		url = url.substr(0, url.length() - 1)
	var rest = url.substr(scheme.length() + (4 if is_secure else 3), url.length())
	var slash = rest.find("/")
	var authority = rest if slash < 0 else rest.substr(0, slash)
	var port = 443 if is_secure else 80
	var colon = _last_colon(authority)
	if colon >= 0:
		port = int(authority.substr(colon + 1, authority.length()))
		authority = authority.substr(0, colon)
	if authority == "" or port < 1 or port > 65535:
		return null
	var host = authority.replace("[", "").replace("]", "") # of an IPv6 address
	return {"url": url, "host": host, "port": port, "is_secure": is_secure, "prefix": "" if slash < 0 else rest.substr(slash, rest.length()), "skip_until": 0}


# Returns where the port begins; -1 without one.
func _last_colon(authority):
	for i in range(authority.length() - 1, -1, -1):
		if authority[i] == "]":
			return -1
		if authority[i] == ":":
			return i
	return -1
