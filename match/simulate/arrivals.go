package simulate

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/match/replay"
)

// Arrivals returns the tickets in the order in which they arrive: a Poisson process whose rate follows the day. The
// result may be ranged over several times. Errors: an option is out of bounds.
func Arrivals(o Options) (iter.Seq2[replay.Arrival, error], error) {
	if err := o.checkBounds(); err != nil {
		return nil, err
	}
	// An option that does not fit the profile is an error of this call and not of the first ticket.
	fields := fieldsOf(o.Profile)
	if err := fields.setDistributions(&o); err != nil {
		return nil, err
	}
	return func(yield func(replay.Arrival, error) bool) {
		m := &maker{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x73696d)), sizeShares: o.partyShares(),
			drawnFields: fields}
		end := o.From.Add(o.runLength())
		// Arrivals are drawn at the highest rate of a day, and some of them left out at other times.
		most := o.Rate * (1 + o.Daily)
		for at := m.nextAfter(o.From, most); at.Before(end); at = m.nextAfter(at, most) {
			if m.random.Float64()*most >= o.rateAt(at) {
				continue
			}
			if !yield(m.makeArrival(at), nil) {
				return
			}
		}
	}, nil
}

// End returns when the last tickets arrive.
func (o *Options) End() time.Time { return o.From.Add(o.runLength()) }

func (o *Options) runLength() time.Duration { return time.Duration(o.Hours * float64(time.Hour)) }

// nextAfter returns the next arrival of a Poisson process.
func (m *maker) nextAfter(at time.Time, rate float64) time.Time {
	// Bounded by more than any simulation: a float64 that a Duration cannot hold would become any number.
	seconds := min(m.random.ExpFloat64()/rate, (MaxHours+1)*3600)
	// At least a nanosecond, so that time goes on at any rate.
	return at.Add(max(1, time.Duration(seconds*float64(time.Second))))
}

// busiest is the hour of the day, in UTC, with the highest rate.
const busiest = 20

// rateAt returns the tickets per second at a time of the day.
func (o *Options) rateAt(at time.Time) float64 {
	hour := at.Sub(at.Truncate(24 * time.Hour)).Hours()
	return o.Rate * (1 + float64(o.Daily*math.Cos((hour-busiest)/24*2*math.Pi)))
}
