package nats

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
)

// maxClients of a game server, as in a list over HTTP.
const maxClients = 1024

// gameServer is the registration behind a connection, and the clients that the game server has reported. Safe for
// concurrent use.
type gameServer struct {
	options     Options
	store       Store
	deployment  provision.Joining
	storedFacts db.DeployedServer
	log         *slog.Logger
	metrics     *metrics
	turn        chan struct{} // holds an element while a call stores something, so that calls are decided in order

	mu                sync.Mutex // guards what follows, and is never locked during a call
	bootID            string     // of the process; "" before it is known
	certDigest        string     // of its certificate; "": not reported
	incarnation       uuid.UUID
	mustStore         pending
	clientIsHere      map[uint64]bool // false: the client has left after the last list
	changeCount       int64           // how often clients have joined or left, which numbers the lists
	hasEarlierClients bool            // clientIsHere has those of earlier connections
}

// pending is what a game server has said and no row has yet.
type pending struct{ needsRegistration, needsList bool }

func newGameServer(o Options, m *metrics, of provision.Joining, facts db.DeployedServer, log *slog.Logger) *gameServer {
	return &gameServer{options: o, store: o.Store, deployment: of, storedFacts: facts, log: log, metrics: m,
		turn: make(chan struct{}, 1), clientIsHere: map[uint64]bool{}}
}

// beginProcess names the process, once, and returns false after that. The digest of a process that was connected before
// is taken from its row.
func (g *gameServer) beginProcess(bootID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bootID != "" {
		return false
	}
	g.bootID, g.mustStore = bootID, pending{needsRegistration: true, needsList: true}
	// A process before this one on the same machine had another certificate.
	if g.storedFacts.BootID == bootID {
		g.certDigest = g.storedFacts.CertDigest
	}
	return true
}

// hasBegun reports whether the process is known.
func (g *gameServer) hasBegun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bootID != ""
}

// changeClient records that a client has joined or left. A client that leaves is kept until takeList. It returns false,
// and records nothing, if there are too many clients.
func (g *gameServer) changeClient(client uint64, isHere bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.clientIsHere[client]; !known && len(g.clientIsHere) >= maxClients {
		return false
	}
	g.clientIsHere[client] = isHere
	g.changeCount++
	g.mustStore.needsList = true
	return true
}

// reportDigest replaces the digest of the certificate.
func (g *gameServer) reportDigest(digest string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.certDigest != digest {
		g.certDigest, g.mustStore.needsRegistration = digest, true
	}
}

// currentDigest returns the digest, "" if none was reported.
func (g *gameServer) currentDigest() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.certDigest
}

// isHere reports whether a client is connected, by the game server's last report.
func (g *gameServer) isHere(client uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clientIsHere[client]
}

// lastSequence returns the number of the game server's last write. It grows, also from one connection to the next.
func (g *gameServer) lastSequence() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.storedFacts.ReadAt + g.changeCount
}

// unstored returns what has to be stored now; more may follow while it is.
func (g *gameServer) unstored() pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mustStore
}

// requestRegistration asks for another registration: the lease of the last one has expired, or what follows a
// registration has failed.
func (g *gameServer) requestRegistration() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mustStore.needsRegistration = true
}

// registration returns what the game server registers with. Whoever knows the credential of a deployment may offer all
// that its version has.
func (g *gameServer) registration() db.Registration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return db.Registration{
		InstanceID: g.deployment.ID.String(), Region: g.deployment.Region, Modes: g.storedFacts.Modes,
		Capacity: g.storedFacts.Capacity, BootID: g.bootID, CertDigest: g.certDigest, ReportsSeats: true,
		Joining: &g.deployment,
	}
}

// noteRegistered takes the answer to a registration. If the digest has changed meanwhile, another one is due. isNew says
// that the incarnation was not known.
func (g *gameServer) noteRegistered(digest string, incarnation uuid.UUID) (isNew bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	isNew = g.incarnation != incarnation
	g.incarnation, g.mustStore.needsRegistration = incarnation, g.certDigest != digest
	return isNew
}

// addEarlier adds clients of the process's earlier connections, unless the process has reported them in this one.
func (g *gameServer) addEarlier(clients []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range clients {
		// Reports of this connection count more, because the rows may be older.
		if _, known := g.clientIsHere[id]; !known && len(g.clientIsHere) < maxClients {
			g.clientIsHere[id] = true
		}
	}
	g.hasEarlierClients = true
}

// lacksEarlierClients reports whether the clients of earlier connections are still to be read. A list without them
// would free their seats.
func (g *gameServer) lacksEarlierClients() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.hasEarlierClients
}

// beginRenewal returns the incarnation whose lease is renewed, and false while none is registered. It also asks for
// another list of clients, since the rows change by themselves: a seat may have been freed.
func (g *gameServer) beginRenewal() (ref db.InstanceRef, isRegistered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mustStore.needsList = true
	return g.instanceRef(), g.incarnation != uuid.Nil && !g.mustStore.needsRegistration
}

// instanceRef has a copy of the incarnation: a batch may still read it after the call that waited for it has given up.
func (g *gameServer) instanceRef() db.InstanceRef {
	incarnation := g.incarnation
	return db.InstanceRef{InstanceID: g.deployment.ID.String(), Incarnation: &incarnation}
}

// takeList returns the clients that are connected, and forgets those that have left.
func (g *gameServer) takeList() db.ClientList {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Clients that have left were kept until here, so that the rows of earlier connections did not bring them back.
	maps.DeleteFunc(g.clientIsHere, func(_ uint64, isHere bool) bool { return !isHere })
	// The number begins with the time at which this connection began: a list of an earlier connection is never newer.
	return db.ClientList{InstanceRef: g.instanceRef(), Seq: g.storedFacts.ReadAt + g.changeCount,
		ClientIDs: slices.Sorted(maps.Keys(g.clientIsHere))}
}

// noteStored takes the answer to a list, and returns false if the clients have changed meanwhile: a newer list is due,
// whose answer counts. Refused clients are dropped from the list: the plugin cannot be asked to disconnect them.
func (g *gameServer) noteStored(list db.ClientList, refused []db.RefusedClient) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if list.Seq != g.storedFacts.ReadAt+g.changeCount {
		return false
	}
	g.mustStore.needsList = false
	for _, r := range refused {
		delete(g.clientIsHere, r.ClientID)
	}
	return true
}
