package bevygap

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/waitingroom"
)

// offersFor is how long a reading of the app versions stays usable: a version that is applied can be asked for within a
// second.
const offersFor = time.Second

// offers keeps the app versions in memory, and reads them again at most once a second, while requests come. Safe for
// concurrent use.
type offers struct {
	store Store

	mu        sync.Mutex // held while the versions are read, so that requests that come meanwhile wait for one reading
	readAt    time.Time  // of the last reading, also of one that failed; zero before the first one that succeeded
	byVersion map[offerKey]db.Offer
}

type offerKey struct{ app, version string }

// findOffer returns an app version. While the database cannot be reached, it is that of the last reading. Errors:
// Unavailable.
func (o *offers) findOffer(ctx context.Context, app, version string) (offer db.Offer, found bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.readAt) > offersFor {
		if err := o.read(ctx); err != nil && o.readAt.IsZero() {
			return db.Offer{}, false, err
		}
		o.readAt = time.Now() // after a failure, too: an outage must not make every request wait for the database
	}
	offer, found = o.byVersion[offerKey{app, version}]
	return offer, found, nil
}

func (o *offers) read(ctx context.Context) error {
	all, err := o.store.Offers(ctx)
	if err != nil {
		return err
	}
	o.byVersion = make(map[offerKey]db.Offer, len(all))
	for _, offer := range all {
		o.byVersion[offerKey{offer.App, offer.Version}] = offer
	}
	return nil
}

// choice is the region and mode that a client asks for, besides the game and version. Empty fields leave the choice to
// the director.
type choice struct {
	region, mode  string
	clientAddress netip.Addr
}

// chooseOffer returns the region and the mode for a client's choice.
func chooseOffer(offer db.Offer, wanted choice) (region, mode string, f *failure) {
	name := offer.App + "/" + offer.Version
	if offer.Dialect == "" {
		return "", "", newFailure(http.StatusNotFound, "%s has no connect tokens: its app version names no dialect",
			name)
	}
	// The version is still there for those who play it, and its pools start no servers any more.
	if len(offer.Regions) == 0 {
		return "", "", newFailure(http.StatusGone, "%s has been replaced by another version", name)
	}
	regions := slices.Clone(offer.Regions)
	if wanted.region != "" {
		regions = slices.DeleteFunc(regions, func(r db.OfferRegion) bool { return r.Region != wanted.region })
	}
	if wanted.mode != "" {
		regions = slices.DeleteFunc(regions, func(r db.OfferRegion) bool { return !slices.Contains(r.Modes, wanted.mode) })
	}
	if len(regions) == 0 {
		return "", "", newFailure(http.StatusNotFound, "%s has no servers for that region or mode", name)
	}
	// MaxFunc returns the first of regions that are equally good: the order of the store decides.
	best := slices.MaxFunc(regions, func(a, b db.OfferRegion) int {
		return longestPrefix(a, wanted.clientAddress) - longestPrefix(b, wanted.clientAddress)
	})
	if wanted.mode != "" {
		return best.Region, wanted.mode, nil
	}
	// Modes are never empty: Offers returns no region without a mode.
	return best.Region, best.Modes[0], nil
}

// longestPrefix returns the length of the longest prefix among the networks of a region that holds an address, -1 if
// none does.
func longestPrefix(r db.OfferRegion, a netip.Addr) int {
	bits := -1
	for _, network := range r.Networks {
		if network.Contains(a) {
			bits = max(bits, network.Bits())
		}
	}
	return bits
}

// requestFor returns what a player asks the waiting room for.
func requestFor(offer db.Offer, region, mode, sub string, from netip.Addr) waitingroom.Request {
	r := waitingroom.Request{Region: region, Mode: mode, Sub: sub, MaxPlayers: offer.MaxPlayers}
	// A private address would place every player behind the same proxy at one spot.
	if isPublic(from) {
		r.Address = from
	}
	return r
}
