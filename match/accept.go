package match

// Claim is what a match needs to become final, once an evaluator has accepted it.
type Claim struct {
	Tickets    []string // all of which must be free; one may come twice
	Backfill   string   // which must be there; empty for none
	Generation int64    // at which the backfill must be: the match was made of what it said then
}

// Verdict is what becomes of a match that an evaluator has accepted.
type Verdict int

// The verdicts. All but Kept are reasons why a match is dropped.
const (
	Kept               Verdict = iota
	TicketGone                 // a ticket of it is in another match, or waits no more
	BackfillGone               // its backfill is deleted, or expired
	BackfillChanged            // its backfill says something else by now, or takes another match
	BackfillUnreadable         // what it wants of a backfill cannot be understood
	CallerGone                 // who proposed it is not there any more
)

var verdictNames = [...]string{"kept", "ticket_gone", "backfill_gone", "backfill_changed", "backfill_unreadable", "caller_gone"}

// Verdicts lists them all.
func Verdicts() []Verdict {
	return []Verdict{Kept, TicketGone, BackfillGone, BackfillChanged, BackfillUnreadable, CallerGone}
}

// String names the verdict, as metrics do.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return "unknown"
	}
	return verdictNames[v]
}

// Keep decides which matches become final, in the order in which they were accepted: those that find all they need, after
// those before them took theirs. One that is dropped takes nothing. free tells which tickets may be matched, backfills
// which backfills there are, and their generations. It answers a verdict for each claim.
func Keep(claims []Claim, free func(ticket string) bool, backfills map[string]int64) []Verdict {
	k := keeper{free: free, backfills: backfills, tickets: map[string]bool{}, filled: map[string]bool{}}
	verdicts := make([]Verdict, len(claims))
	for i, c := range claims {
		if verdicts[i] = k.judge(c); verdicts[i] == Kept {
			k.take(c)
		}
	}
	return verdicts
}

// keeper knows what is there, and what the matches so far have taken of it.
type keeper struct {
	free      func(ticket string) bool
	backfills map[string]int64
	tickets   map[string]bool
	filled    map[string]bool
}

func (k *keeper) judge(c Claim) Verdict {
	if c.Backfill != "" {
		switch generation, there := k.backfills[c.Backfill]; {
		case !there:
			return BackfillGone
		case generation != c.Generation || k.filled[c.Backfill]:
			return BackfillChanged
		}
	}
	for _, id := range c.Tickets {
		if k.tickets[id] || !k.free(id) {
			return TicketGone
		}
	}
	return Kept
}

func (k *keeper) take(c Claim) {
	for _, id := range c.Tickets {
		k.tickets[id] = true
	}
	if c.Backfill != "" {
		k.filled[c.Backfill] = true
	}
}
