package sdk

// The bodies of the fleet routes, as api/openapi.yaml has them.

type registerRequest struct {
	InstanceID   string            `json:"instance_id"`
	Endpoint     string            `json:"endpoint"`
	Region       string            `json:"region"`
	Modes        []string          `json:"modes"`
	Capacity     int               `json:"capacity"`
	Load         *float64          `json:"load,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	MaxSessions  int               `json:"max_sessions,omitempty"`
	Version      string            `json:"version,omitempty"`
	ReportsSeats bool              `json:"reports_seats"`
	BootID       string            `json:"boot_id"`
	Replaces     string            `json:"replaces"` // an incarnation, or noIncarnation
}

// noIncarnation stands for the incarnation of a process that was never registered.
const noIncarnation = "none"

type registerAnswer struct {
	Incarnation string `json:"incarnation"`
}

// instanceRef opens every later request. An empty incarnation, from a director that has none, is left out.
type instanceRef struct {
	InstanceID  string `json:"instance_id"`
	Incarnation string `json:"incarnation,omitempty"`
}

type heartbeatRequest struct {
	instanceRef
	Load *float64 `json:"load,omitempty"`
}

type drainRequest struct {
	instanceRef
	Drain bool `json:"drain"`
}

type seatsRequest struct {
	instanceRef
	SessionID       string       `json:"session_id"`
	Joined          []joinedSeat `json:"joined,omitempty"`
	Left            []string     `json:"left,omitempty"`
	LeftConnections []string     `json:"left_connections,omitempty"` // of those in Left, in their order
	Ended           bool         `json:"ended,omitempty"`
}

type joinedSeat struct {
	Sub        string `json:"sub"`
	JTI        string `json:"jti"`
	Connection string `json:"connection"`
}

type seatsAnswer struct {
	Closed  bool         `json:"closed"`
	Results []seatResult `json:"results"`
}

// seatResult is what became of one entry; they come in the order of the request, joined before left.
type seatResult struct {
	Sub    string `json:"sub"`
	Result string `json:"result"`
}
