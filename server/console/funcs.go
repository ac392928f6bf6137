package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/match"
)

// funcs are the functions of templates. Those that return HTML escape what they are given.
var funcs = template.FuncMap{
	"ago": agoHTML, "ahead": aheadHTML, "at": clockHTML, "span": spanText, "ms": formatMilliseconds,
	"num": formatNumber, "percent": formatPercent, "share": formatShare, "bytes": byteSize, "load": formatLoad,
	"state": stateBadge, "seg": url.PathEscape, "short": shortID, "person": actorName,
	"join": strings.Join, "meter": meterHTML, "plural": pluralText, "plot": plotHTML, "spark": sparkHTML,
	"detail": detailHTML, "object": objectHTML, "ending": endingText, "waiting": isWaiting, "subject": subjectPath,
	"waited": waitedText,
	"list":   func(all ...any) []any { return all },
	"dict":   pairArguments,
}

// endingText says why a ticket left the queue: the word that programs read, with a sentence for it.
func endingText(reason string) string {
	return strings.TrimSuffix(reason+": "+match.EndingInWords(reason), ": ")
}

// pairArguments makes a map of names and values, for templates that take several.
func pairArguments(pairs ...any) (map[string]any, error) {
	all := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		name, ok := pair[0].(string)
		if !ok || len(pair) < 2 {
			return nil, fmt.Errorf("dict takes names and values: %v", pairs)
		}
		all[name] = pair[1]
	}
	return all, nil
}

// timeOf accepts a time or a pointer to one. nil, and what is no time, is the zero time.
func timeOf(v any) time.Time {
	switch t := v.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// agoHTML is a time as "12 s ago" or "in 12 s", which the browser keeps current, with the time of day in UTC beside it;
// the date is its title. now is the .Now of the view.
func agoHTML(v any, now time.Time) template.HTML {
	t := timeOf(v)
	// Queries write a time that is missing as the epoch, where a column must not be NULL.
	if t.IsZero() || t.Unix() == 0 {
		return `<span class="none">never</span>`
	}
	text := spanText(now.Sub(t)) + " ago"
	if t.After(now) {
		text = "in " + spanText(t.Sub(now))
	}
	clock := `<span class="clock"> ` + t.UTC().Format("15:04:05") + `</span>`
	return timeElement(t, "data-relative", text) + template.HTML(clock) //nolint:gosec // G203: of digits
}

// aheadHTML is agoHTML for a time that may be missing because nothing is planned.
func aheadHTML(v any, now time.Time) template.HTML {
	if timeOf(v).IsZero() {
		return `<span class="none">not planned</span>`
	}
	return agoHTML(v, now)
}

// clockHTML is a time as the clock shows it, in UTC.
func clockHTML(v any) template.HTML {
	t := timeOf(v)
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	return timeElement(t, "", t.UTC().Format("2006-01-02 15:04:05"))
}

// timeElement is an element with a time, as text and, in UTC, as its title. console.js keeps the text current by
// datetime if the element has the attribute data-relative.
func timeElement(t time.Time, attribute, text string) template.HTML {
	utc := t.UTC()
	html := `<time datetime="` + utc.Format("2006-01-02T15:04:05.000Z") + `" title="` +
		utc.Format("2006-01-02 15:04:05 UTC") + `" ` + attribute + `>` + text + `</time>`
	return template.HTML(html) //nolint:gosec // G203: of digits and letters
}

// spanText is a duration for people: two units at most. It takes what durationOf accepts.
func spanText(v any) string {
	d := durationOf(v).Abs()
	switch {
	case d < time.Second:
		return strconv.Itoa(int(d.Milliseconds())) + " ms"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 24*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return twoUnits(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

// twoUnits leaves out a second unit of 0.
func twoUnits(large int, unit string, small int, smallUnit string) string {
	text := strconv.Itoa(large) + " " + unit
	if small > 0 {
		text += " " + strconv.Itoa(small) + " " + smallUnit
	}
	return text
}

// durationOf accepts what views have: durations, and seconds as a number. Others, and nil, are 0.
func durationOf(v any) time.Duration {
	switch d := v.(type) {
	case time.Duration:
		return d
	case *time.Duration:
		if d != nil {
			return *d
		}
	case float64:
		return time.Duration(d * float64(time.Second))
	}
	return 0
}

// formatMilliseconds is a number of milliseconds with its unit.
func formatMilliseconds(v float64) string { return formatNumber(math.Round(v)) + " ms" }

// int64Of accepts what views count in. Others are 0.
func int64Of(v any) int64 {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case int64:
		return x
	case float64:
		return int64(x)
	}
	return 0
}

// formatPercent is a share of a whole.
func formatPercent(part, whole any) string {
	p, w := int64Of(part), int64Of(whole)
	switch {
	case w == 0:
		return "–"
	case p > 0 && p*100 < w: // 0 % would say that there is none
		return "< 1 %"
	}
	return strconv.FormatInt(p*100/w, 10) + " %"
}

// formatShare is a share from 0 to 1 as a percentage. It has a decimal, since half a percent more is a drift of the
// estimates that it is shown for.
func formatShare(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// formatLoad is what a game server reports: a share, or a count.
func formatLoad(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// byteSize is a number of bytes with its unit.
func byteSize(n int64) string {
	switch {
	case n >= 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
	case n >= 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
	case n >= 1<<10:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// pluralText is a number with the noun that it takes.
func pluralText(n any, one, many string) string {
	if int64Of(n) == 1 {
		return "1 " + one
	}
	return formatNumber(n) + " " + many
}

// shortID cuts a long id. Its whole text belongs into a title.
func shortID(text string) string {
	// The id of a session is that of a region, and a UUID.
	if region, id, found := strings.Cut(text, "."); found && len(id) == len(uuid.Nil.String()) {
		return region + "." + shortID(id)
	}
	const head, tail = 8, 4
	if len(text) <= head+1+tail { // the cut text would be no shorter, with its ellipsis
		return text
	}
	return text[:head] + "…" + text[len(text)-tail:]
}

// actorName is an actor of an event for people.
func actorName(actor string) string {
	_, name, found := strings.Cut(actor, ":")
	if !found {
		return actor
	}
	return name
}

// tones are the colours of states. A state is always written too, so that colour is never all there is.
var tones = map[string]string{
	"ok": "good", "valid": "good", "ready": "good", "live": "good", "decided": "good", "playing": "good",
	"created":  "good",
	"reported": "good", "can match now": "good",
	"can join now": "good", "connected": "good", "signing": "good", "running": "good", "active": "good",
	"assigned": "good", "done": "good", "open": "good", "holds": "good", "ahead": "info", "seated": "good",
	"reserved": "info", "next": "info", "deploying": "info", "wanted": "info", "waits": "info", "proposed": "info",
	"accepted": "info", "pending": "info", "preparing": "info", "copying": "info", "flipped": "good",
	"queued": "info", "matched": "info", "accepting": "info",
	"warn": "warn", "draining": "warn", "starting": "warn", "retiring": "warn", "no candidate": "warn",
	"doubted": "warn", "version paused": "warn", "exists": "warn",
	"disconnected": "warn", "declined": "warn", "done_late": "warn", "stale": "warn", "suspended": "warn",
	"paused": "warn", "full": "warn", "fenced": "warn", "stopping": "warn",
	"waiting_for_server": "warn", "session limit": "warn",
	"late": "bad", "no worker": "bad", "no replica": "bad", "fail": "bad", "silent": "bad", "expired": "bad",
	"tainted": "bad", "failed": "bad", "cut off": "bad",
	"failing": "bad", "dead": "bad", "retrying": "warn", "behind": "warn",
	"timed_out": "bad", "lost": "bad", "none yet": "bad", "nothing": "bad",
}

// stateBadge is a state as a badge.
func stateBadge(text string) template.HTML {
	tone := tones[text]
	if tone == "" {
		tone = "plain"
	}
	shown := template.HTMLEscapeString(strings.ReplaceAll(text, "_", " "))
	return template.HTML(`<span class="state ` + tone + `">` + shown + `</span>`) //nolint:gosec // G203: escaped
}

// meterHTML is a bar that shows a part of a whole; label says of what.
func meterHTML(part, whole any, label string) template.HTML {
	p, w := int64Of(part), int64Of(whole)
	w = max(w, 1)
	// From high on, browsers show it in another colour. A meter from 0 to 0 is not valid, hence the 1.
	html := fmt.Sprintf(`<meter min="0" max="%d" high="%d" value="%d" aria-label="`, w, w*9/10, min(p, w)) +
		template.HTMLEscapeString(label) + `"></meter>`
	return template.HTML(html) //nolint:gosec // G203: escaped
}

// waitedText is a number of milliseconds as a duration for people.
func waitedText(ms *int64) string { return spanText(time.Duration(*ms) * time.Millisecond) }
