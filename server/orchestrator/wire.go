package orchestrator

// The topics of the protocol. The director sends hello, poll and cmd; an agent sends state and ack.
const (
	topicHello = "fleet/hello"
	topicPoll  = "fleet/poll"
	topicState = "fleet/state"
	topicCmd   = "fleet/cmd"
	topicAck   = "fleet/ack"
)

const (
	protocolMajor = 3 // the first byte of each payload, and the protocolVersion of hello
	protocolMinor = 0 // the second byte; a reader ignores it
	versionBytes  = 2 // of a payload, before its body
)

const (
	maxFrameBytes = 4 << 20
	maxTopicUnits = 256 // UTF-16 code units
)

// The known values of a status. An agent may report any other text: it is stored, and no room is placed on that agent.
const (
	statusActive   = "active"
	statusDraining = "draining"
)

// What a command asks for.
const (
	opCreate  = "create"
	opDestroy = "destroy"
	opDrain   = "drain"
	opUndrain = "undrain"
)

// originLocal marks a room that the game's code made. Any other origin, or none, counts as made by the fleet.
const originLocal = "local"

// What a snapshot may contain. Lengths are in UTF-16 code units.
const (
	maxEndpointUnits   = 512
	maxNameUnits       = 64
	maxRoomTypes       = 256
	maxRoomTypeUnits   = 64
	maxRooms           = 50_000
	maxLabels          = 32
	maxLabelUnits      = 64 // of a key, and of a value
	maxRoomIDUnits     = 256
	maxRoomConnections = 1_000_000 // a count beyond it would distort the load of the fleet
	// limit of texts that upstream does not limit, because they are stored in indexes and in every list
	maxShortUnits = 256
)
