package db

// InstanceInfo is the JSON of an agent in the orchestrator's REST and SSE; the order of its fields is the order of the
// keys. It is also the detail of the events agent.joined, agent.left, agent.stale and agent.recovered.
type InstanceInfo struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	ProcessUID      string            `json:"processUid"`
	EndpointURL     string            `json:"endpointUrl"`
	Labels          map[string]string `json:"labels"`    // never nil
	RoomTypes       []string          `json:"roomTypes"` // never nil
	Rooms           []RoomInfo        `json:"rooms"`     // never nil; created and reported ones, by id
	Connections     int64             `json:"connections"`
	Capacity        AgentCapacity     `json:"capacity"`
	AutoCreate      bool              `json:"autoCreate"`
	Status          string            `json:"status"`     // the effective status
	LastSyncAt      int64             `json:"lastSyncAt"` // when the last reply was received; milliseconds since 1970
	AgentVersion    string            `json:"agentVersion"`
	ProtocolVersion int64             `json:"protocolVersion"`
}

// AgentCapacity holds the maximums of an agent; nil means unlimited.
type AgentCapacity struct {
	MaxConnections *int32 `json:"maxConnections"`
	MaxRooms       *int32 `json:"maxRooms"`
}

// RoomInfo is the JSON of a room in REST and SSE; the order of its fields is the order of the keys. It is also the
// detail of the events room.created and room.destroyed.
type RoomInfo struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Connections int32  `json:"connections"`
	InstanceID  string `json:"instanceId"`
	EndpointURL string `json:"endpointUrl"`
	Local       bool   `json:"local"`
}
