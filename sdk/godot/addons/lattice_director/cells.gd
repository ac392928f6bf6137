# What a client knows of other cells: installations that serve other regions of the title. It learns that from answers of the configured
# replicas alone, so nobody else can name an address to which the token is sent.

const MAX_REMEMBERED = 4096

var _regions = {} # addresses of cells, as replicas.gd has them, by region; a dictionary keeps the order in which they came
var _tickets = {}


# Returns the address of the cell that has what a request names; null if none is known.
func address_for(request):
	if request.get("ticket", "") != "":
		return _tickets.get(request.ticket)
	return _regions.get(request.get("region", ""))


func remember_ticket(id, address):
	_remember(_tickets, id, address)


func forget_region(request):
	var _was_known = _regions.erase(request.get("region", ""))


# Returns where to ask in place of the replica that was asked, and remembers it; null if the answer was another.
func follow(asked, error, replicas):
	if not is_elsewhere(error):
		return null
	var address = replicas.parse(error.address, "http")
	if address == null or (asked.is_secure and not address.is_secure): # a token that was sent by https is not sent in plain text
		return null
	if error.region != "":
		_remember(_regions, error.region, address)
	return address


# Whether another cell serves the region that a call names.
func is_elsewhere(error):
	return error.status == 421 and error.code == "region_elsewhere"


func _remember(places, what, address):
	places[what] = address
	if places.size() > MAX_REMEMBERED:
		var _was_known = places.erase(places.keys()[0])
