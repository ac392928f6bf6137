package fault

import "errors"

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

// NewElsewhere returns an error of kind Elsewhere.
func NewElsewhere(c *Cell) *Error {
	e := New(Elsewhere, CodeElsewhere, "region %q is served by cell %q, at %s", c.Region, c.Name,
		c.Addresses[ListenerAPI])
	e.Cell = c
	return e
}

// CellOf returns the cell to ask in place of this one, nil if err is of another kind.
func CellOf(err error) *Cell {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Cell
	}
	return nil
}
