package replay

import (
	"time"

	"github.com/lattice-director/director/match/decide"
)

// Report has the outcomes of the tickets of a replay.
type Report struct {
	Schema  int       `json:"schema"` // 1; later releases may add fields
	Profile string    `json:"profile"`
	Version int       `json:"version,omitempty"` // 0: the profile is not a stored version
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Seed    uint64    `json:"seed"`
	// Replayed has the outcomes under the rules, and Recorded those of the history; nil if nothing was recorded.
	Replayed Side  `json:"replayed"`
	Recorded *Side `json:"recorded,omitempty"`
	// Reproduced compares the matches themselves; nil if nothing was recorded.
	Reproduced *Reproduced `json:"reproduced,omitempty"`
	// Optimum compares what tickets paid by the profile's trade with the least that they could have; nil unless the
	// profile trades attributes and pairs tickets of one player.
	Optimum *Optimum `json:"optimum,omitempty"`
	// NoCandidates counts the tickets that the rules leave out, however long they wait. Only tickets that name the
	// profile count. A ticket may lack several things.
	NoCandidates NoCandidates `json:"no_candidates"`
	// Censored counts the tickets that waited longer in the replay than in the history: whether their players would have
	// stayed is unknown.
	Censored int `json:"censored"`
	// NotReproduced lists in words how the replay differs from a real queue.
	NotReproduced []string `json:"not_reproduced"`
}

// TradeCost is what players pay by the profile's trade, on average over all of them, also those who were never matched.
type TradeCost struct {
	Players int         `json:"players"`
	Waiting float64     `json:"waiting_s"`
	Parts   []TradePart `json:"parts"`
	Total   float64     `json:"cost_s"` // of waiting and all parts, in seconds of waiting
}

// TradePart is what players pay by one trade, on average.
type TradePart struct {
	Of        string  `json:"of"` // the key of the trade
	PerSecond float64 `json:"per_second"`
	Value     float64 `json:"mean"` // points, or milliseconds
	Seconds   float64 `json:"cost_s"`
}

// Optimum is what tickets paid, and the least that they could have if somebody had known all arrivals in advance and
// the rules allowed every pair. It is computed of up to 2,100 tickets, in parts: the true least is as high or a little
// higher, so Ratio is an upper bound.
type Optimum struct {
	Tickets int     `json:"tickets"`
	Least   float64 `json:"least_s"` // a ticket, in seconds of waiting
	Paid    float64 `json:"paid_s"`
	Ratio   float64 `json:"ratio"`
}

// NoCandidates counts tickets that are no candidates.
type NoCandidates struct {
	Tickets int            `json:"tickets"`
	Why     []LackingCount `json:"why"` // the most frequent first
}

// LackingCount counts the tickets that lack the same thing.
type LackingCount struct {
	Reason    decide.LackReason `json:"reason"`
	Attribute string            `json:"attribute,omitempty"` // of reason attribute
	Rule      string            `json:"rule,omitempty"`      // the id of the rule that needs it
	Tickets   int               `json:"tickets"`
}

// Reproduced counts the recorded matches that the replay made with exactly the same tickets, in the same teams if the
// history drew sides with the same seed.
type Reproduced struct {
	Matches int `json:"matches"`
	Of      int `json:"of"`
	// SameRules counts the recorded matches that were made by the rules that are replayed. Only these are expected to be
	// reproduced.
	SameRules int `json:"same_rules"`
	FromSame  int `json:"reproduced_of_same_rules"`
	Owners    int `json:"owners"` // how often a worker began to decide, by the seeds of the matches
	// First is the first match of the same rules that the replay did not make; nil: it made all of them.
	First *Difference `json:"first_difference,omitempty"`
}

// Side has the outcomes of the tickets, recorded or replayed.
type Side struct {
	Tickets      int       `json:"tickets"`
	Players      int       `json:"players"`
	Matched      int       `json:"matched"` // tickets
	NeverMatched Unmatched `json:"never_matched"`
	Matches      int       `json:"matches"`
	// Waiting is in seconds, from the creation of a ticket to the decision of its match, or to its server where
	// capacity is limited. Bins has the same tickets.
	Waiting Quantiles `json:"waiting_s"`
	Bins    []Bin     `json:"waiting_bins"`
	// Trade is nil if the profile has no trade or, of the history, one of latency or balance.
	Trade *TradeCost `json:"trade,omitempty"`
	// Bands are the matches by the mean waiting of their tickets, with how far apart their players are by the first
	// near or balance rule. Only of the replayed side, and of bands that have matches.
	Bands   []Band    `json:"spread_by_waiting,omitempty"`
	Quality []Quality `json:"quality"`
	// Preferences are how many matches satisfy the profile's preferences. Only of the replayed side.
	Preferences []Satisfied `json:"preferences,omitempty"`
	Latency     Quantiles   `json:"latency_ms"` // of the worst player of a match, where it is measured
	Fill        Quantiles   `json:"fill"`       // players of a match for each seat
	Line        []Point     `json:"timeline"`
}

// Unmatched counts the tickets that were not matched, by outcome.
type Unmatched struct {
	Quit     int `json:"quit"`     // cancelled or expired
	Declined int `json:"declined"` // did not accept a match
	Taken    int `json:"taken"`    // by other profiles and directors, or joined an open match
	Waiting  int `json:"waiting"`  // still in the queue at the end
}

// Sum returns the number of all that were not matched.
func (l Unmatched) Sum() int { return l.Quit + l.Declined + l.Taken + l.Waiting }

// Quantiles describe N numbers. All but Mean and Max are within 2 %.
type Quantiles struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Bin counts tickets that waited for less than UpTo seconds, and at least for the bin before it. UpTo 0: all others.
type Bin struct {
	UpTo    float64 `json:"up_to_s"`
	Tickets int     `json:"tickets"`
}

// Band counts the matches whose tickets waited on average for less than UpTo seconds, and at least for the band before
// it. UpTo 0: all others.
type Band struct {
	UpTo    float64 `json:"up_to_s"`
	Matches int     `json:"matches"`
	Spread  float64 `json:"mean_spread"`
}

// Quality describes the values of a rule: differences, numbers of values, milliseconds.
type Quality struct {
	Rule   string    `json:"rule"`
	Values Quantiles `json:"values"`
	Ended  int       `json:"ended"` // matches for which a step had ended the rule
}

// Satisfied counts the matches that satisfy a preference.
type Satisfied struct {
	Rule    string  `json:"rule"`
	Weight  float64 `json:"weight"`
	Matches int     `json:"matches"`
}

// Point has the tickets of a part of the time.
type Point struct {
	At          time.Time `json:"at"` // when it begins
	Arrived     int       `json:"arrived"`
	Matched     int       `json:"matched"`        // tickets
	MeanWaiting float64   `json:"mean_waiting_s"` // of those that were matched in it
}

// Difference is the first recorded match that a replay of the same rules did not make. Later ones may follow from it.
type Difference struct {
	Match   string    `json:"match_id"`
	Decided time.Time `json:"decided_at"` // in the history
	Ticket  string    `json:"ticket_id"`  // of the match, with another outcome in the replay
	Why     string    `json:"why"`        // in words

	since time.Time // when history and replay part
}
