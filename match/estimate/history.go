package estimate

import (
	"slices"
	"sort"
	"time"
)

// history is what was published, oldest first: each second of the last minutes, then each minute of the last hours.
type history struct{ points []point }

// point is what was published at a time.
type point struct {
	saidAt        time.Time
	littleSeconds float64
	groups        []Group
}

const (
	fineFor     = 5 * time.Minute // the age up to which all points are kept
	coarseEvery = time.Minute     // between two points that are older
	coarseFor   = 3 * time.Hour   // the age beyond which no point is kept
)

// addPoint appends a point, unless it says the same as the last one, and drops what is too old or too fine for its age.
func (h *history) addPoint(p point) {
	if n := len(h.points); n > 0 && h.points[n-1].littleSeconds == p.littleSeconds &&
		slices.Equal(h.points[n-1].groups, p.groups) {
		return
	}
	h.points = append(h.points, p)
	// Thinning looks at all points, so it is not done for each.
	if len(h.points)%64 == 0 {
		h.thinPoints(p.saidAt)
	}
}

// thinPoints drops the points that are too old, and those that are too many for their age. Waits that began before the
// oldest point are compared with that one, so that the longest waits count, too.
func (h *history) thinPoints(now time.Time) {
	kept := h.points[:0]
	var last time.Time
	for _, p := range h.points {
		age := now.Sub(p.saidAt)
		if age > coarseFor || age > fineFor && !last.IsZero() && p.saidAt.Sub(last) < coarseEvery {
			continue
		}
		last, kept = p.saidAt, append(kept, p)
	}
	clear(h.points[len(kept):])
	h.points = kept
}

// pointAt returns what was published last at a time; for an earlier time than all, the oldest that is known.
func (h *history) pointAt(t time.Time) (p point, known bool) {
	if len(h.points) == 0 {
		return p, false
	}
	i := sort.Search(len(h.points), func(i int) bool { return h.points[i].saidAt.After(t) })
	return h.points[max(i-1, 0)], true
}
