package sdk

// The request and response bodies of the fleet routes, as api/openapi.yaml describes them.

type registerRequest struct {
	InstanceID   string            `json:"instance_id"`
	Endpoint     string            `json:"endpoint,omitempty"`
	Region       string            `json:"region"`
	Modes        []string          `json:"modes"`
	Capacity     int               `json:"capacity"`
	Load         *float64          `json:"load,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	MaxSessions  int               `json:"max_sessions,omitempty"`
	Version      string            `json:"version,omitempty"`
	CertDigest   string            `json:"cert_digest,omitempty"`
	ProviderRef  string            `json:"provider_ref,omitempty"`
	ReportsSeats bool              `json:"reports_seats"`
	BootID       string            `json:"boot_id"`
	Replaces     string            `json:"replaces"` // an incarnation, or noIncarnation
}

// noIncarnation is the value of replaces for a process that has never been registered.
const noIncarnation = "none"

// statusAnswer is the answer to register and heartbeat. Endpoint and Desired are empty for servers that nobody
// deployed.
type statusAnswer struct {
	Incarnation string `json:"incarnation"` // of a registration only
	Endpoint    string `json:"endpoint"`
	Desired     string `json:"desired"` // running or stopped
	// Credential is set when the server is to use a new one.
	Credential *struct {
		Token string `json:"token"`
	} `json:"credential"`
}

// instanceRef says which instance sends a request after its registration: every such request has its fields, and
// deregister has no others. The incarnation is empty, and omitted, with a director that returns none.
type instanceRef struct {
	InstanceID  string `json:"instance_id"`
	Incarnation string `json:"incarnation,omitempty"`
}

type heartbeatRequest struct {
	InstanceID  string   `json:"instance_id"`
	Incarnation string   `json:"incarnation,omitempty"`
	Load        *float64 `json:"load,omitempty"`
}

type drainRequest struct {
	InstanceID  string `json:"instance_id"`
	Incarnation string `json:"incarnation,omitempty"`
	Drain       bool   `json:"drain"`
}

func drainRequestOf(ref instanceRef, drain bool) drainRequest {
	return drainRequest{InstanceID: ref.InstanceID, Incarnation: ref.Incarnation, Drain: drain}
}

type seatsRequest struct {
	InstanceID      string       `json:"instance_id"`
	Incarnation     string       `json:"incarnation,omitempty"`
	SessionID       string       `json:"session_id"`
	Joined          []joinedSeat `json:"joined,omitempty"`
	Left            []string     `json:"left,omitempty"`
	LeftConnections []string     `json:"left_connections,omitempty"` // one for each entry of Left, in the same order
	Ended           bool         `json:"ended,omitempty"`
}

type joinedSeat struct {
	Sub        string `json:"sub"`
	JTI        string `json:"jti"`
	Connection string `json:"connection"`
}

type clientsRequest struct {
	InstanceID  string   `json:"instance_id"`
	Incarnation string   `json:"incarnation,omitempty"`
	Seq         int64    `json:"seq"`
	Clients     []string `json:"clients"`
}

type seatsAnswer struct {
	Closed  bool         `json:"closed"` // the session has ended, or belongs to another instance
	Results []seatResult `json:"results"`
}

// seatResult is the result of one entry. Results have the order of the request's entries, joined before left.
type seatResult struct {
	Sub string `json:"sub"`
	// Result of a join: ok, replay (the token was redeemed before), seat_gone (the seat has expired and the session is
	// full) or unknown (the player never had a seat). Of a leave: ok, unknown or not_holder (another connection of the
	// player has the seat, or none).
	Result string `json:"result"`
}
