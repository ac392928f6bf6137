package fault

// The listeners of a cell, as the keys of [Cell.Addresses].
const (
	ListenerAPI          = "api"
	ListenerRealtime     = "realtime"
	ListenerControl      = "control"
	ListenerOrchestrator = "orchestrator"
	ListenerConsole      = "console"
	ListenerGRPC         = "grpc"
)

// CodeElsewhere is the code of each [Error] of kind Elsewhere.
const CodeElsewhere = "region_elsewhere"

// Cell is another installation of the same title, which serves a region. It is read-only.
type Cell struct {
	Name   string
	Region string // that it serves
	// Addresses are where its listeners are reached, by listener; that of the API is always there.
	Addresses map[string]string
}
