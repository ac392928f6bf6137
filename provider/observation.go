package provider

import (
	"net/netip"
	"time"
)

// Loopback is the address that players dial, unless the configuration of a provider has another.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Phase is the state of a deployment at its provider.
type Phase string

// The phases; see the package's diagram.
const (
	PhasePending  Phase = "pending"  // accepted; nothing runs yet
	PhaseStarting Phase = "starting" // the server starts
	PhaseReady    Phase = "ready"    // it runs and can be reached; the game inside may need longer
	PhaseFailed   Phase = "failed"   // it does not run, and must be stopped
	PhaseStopping Phase = "stopping" // Stop was accepted, or it is being ended
	PhaseGone     Phase = "gone"     // nothing of it is left
	PhaseAbsent   Phase = "absent"   // the provider does not know it: not yet, or not any more
	PhaseUnknown  Phase = "unknown"  // a word of the provider that we do not know: treat it as pending
)

// Observation is the state of a deployment as a provider reported it at one time. Fields that it did not report are
// zero.
type Observation struct {
	Ref      Ref
	Tag      Tag
	Phase    Phase
	IP       netip.Addr      // that players dial
	FQDN     string          // instead of IP, or in addition
	Ports    map[string]Port // by name
	Location string
	Started  time.Time
	Ends     time.Time // when the provider ends it
	Raw      string    // the phase in the provider's words
	Error    string    // the provider's reason of PhaseFailed or PhaseGone, at most MaxErrorBytes
}

// Exists reports whether the provider knows the deployment, and something of it may be left.
func (o Observation) Exists() bool { return o.Phase != PhaseGone && o.Phase != PhaseAbsent }

// MaxErrorBytes bounds Observation.Error.
const MaxErrorBytes = 500

// Limits of a provider's answers.
const (
	MaxRefBytes = 128
	MaxFound    = 100 // deployments with one tag
	MaxPorts    = 64  // of a deployment
)
