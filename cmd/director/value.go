package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// value is a kind of setting, bound to the variable that holds it.
type value struct {
	kind    string   // for --help: duration, number, …
	allowed string   // the allowed values, for people
	words   []string // the allowed values, if they are few
	exact   bool     // white space around it is a part of it, which set refuses or keeps; else it is removed
	set     func(text string) error
	show    func() string // the value, with secrets masked
}

const (
	kindBool = "bool"
	mask     = "********"
	day      = 24 * time.Hour
	// modePrefix is the prefix of the variables that set the session size of one mode.
	modePrefix = "DIRECTOR_MODE_"
	// shortestSecret is in bytes: shorter secrets can be guessed.
	shortestSecret = 16
)

func (v value) must(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("it must be " + v.allowed)
}

func text(p *string, allowed string) value {
	v := value{kind: "text", allowed: allowed, show: func() string { return *p }}
	v.set = func(text string) error { *p = text; return nil }
	return v
}

// line is text in which nobody would see a line break.
func line(p *string) value {
	v := text(p, "text on one line")
	v.set = func(text string) error {
		*p = text
		return v.must(!strings.ContainsFunc(text, unicode.IsControl))
	}
	return v
}

func boolean(p *bool) value {
	v := value{kind: kindBool, allowed: "true or false", words: []string{"true", "false"}, show: func() string { return strconv.FormatBool(*p) }}
	v.set = func(text string) (err error) {
		*p, err = strconv.ParseBool(text)
		return v.must(err == nil)
	}
	return v
}

func integer(p *int, least, most int) value {
	v := value{kind: "number", allowed: fmt.Sprintf("%d to %d", least, most), show: func() string { return strconv.Itoa(*p) }}
	v.set = func(text string) (err error) {
		*p, err = strconv.Atoi(text)
		return v.must(err == nil && least <= *p && *p <= most)
	}
	return v
}

func duration(p *time.Duration, least, most time.Duration) value {
	v := value{kind: "duration", allowed: brief(least) + " to " + brief(most), show: func() string { return brief(*p) }}
	v.set = func(text string) (err error) {
		*p, err = time.ParseDuration(text)
		if err != nil {
			return errors.New("it must be a duration such as 90s, 2m or 24h, " + v.allowed)
		}
		return v.must(least <= *p && *p <= most)
	}
	return v
}

// brief formats a duration without trailing units that are zero.
func brief(d time.Duration) string { return timetext.Brief(d) }

func choice(p *string, words ...string) value {
	v := value{kind: "word", allowed: strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1], words: words}
	v.show = func() string { return *p }
	v.set = func(text string) error {
		*p = text
		return v.must(slices.Contains(words, text))
	}
	return v
}

func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func list(p *[]string, allowed string) value {
	return value{
		kind: "list", allowed: allowed + ", comma-separated", show: func() string { return strings.Join(*p, ",") },
		set: func(text string) error { *p = splitList(text); return nil },
	}
}

func networks(p *[]string) value {
	v := list(p, "addresses or CIDRs")
	v.set = func(text string) error {
		*p = splitList(text)
		for _, item := range *p {
			_, notAddr := netip.ParseAddr(item)
			if _, notNet := netip.ParsePrefix(item); notAddr != nil && notNet != nil {
				return v.must(false)
			}
		}
		return nil
	}
	return v
}

func address(p *string) value {
	v := value{kind: "address", allowed: "host:port", show: func() string { return *p }}
	v.set = func(text string) error {
		*p = text
		_, port, err := net.SplitHostPort(text)
		_, notPort := strconv.ParseUint(port, 10, 16)
		return v.must(err == nil && notPort == nil)
	}
	return v
}

// addresses is a list of listen addresses.
func addresses(p *[]string) value {
	v := list(p, "host:port")
	v.set = func(text string) error {
		*p = splitList(text)
		for _, item := range *p {
			if err := address(new(string)).set(item); err != nil {
				return v.must(false)
			}
		}
		return v.must(len(*p) > 0)
	}
	return v
}

// gcPercent has the syntax of GOGC; off is -1.
func gcPercent(p *int) value {
	v := value{kind: "number", allowed: "0 to 100000, or off", show: func() string {
		if *p < 0 {
			return "off"
		}
		return strconv.Itoa(*p)
	}}
	v.set = func(text string) (err error) {
		if text == "off" || text == "-1" {
			*p = -1
			return nil
		}
		*p, err = strconv.Atoi(text)
		return v.must(err == nil && 0 <= *p && *p <= 100_000)
	}
	return v
}

// size is a number of bytes.
func size(p *int, least, most int) value {
	v := value{kind: "size", allowed: bytesText(least) + " to " + bytesText(most), show: func() string { return bytesText(*p) }}
	v.set = func(text string) error {
		unit := 1
		for suffix, n := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
			if number, found := strings.CutSuffix(text, suffix); found {
				text, unit = number, n
			}
		}
		n, err := strconv.Atoi(text)
		*p = n * unit
		return v.must(err == nil && n <= most/unit && least <= n*unit)
	}
	return v
}

func bytesText(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "MiB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "KiB"
	}
	return strconv.Itoa(n)
}

// dialled is what players dial.
func dialled(p *string) value {
	v := text(p, rest.Endpoint.Description)
	v.set = func(text string) error {
		*p = text
		return v.must(rest.Endpoint.Valid(text))
	}
	return v
}

// gameRegion is a region. The API and the ids of sessions know no others.
func gameRegion(p *string) value {
	v := text(p, rest.Region.Description)
	v.set = func(text string) error {
		*p = text
		return v.must(rest.Region.Valid(text))
	}
	return v
}

func evaluatorURL(p *string) value {
	v := text(p, "grpc://host:port or http://host:port, or grpcs or https")
	v.set = func(text string) error {
		*p = text
		u, err := url.Parse(text)
		return v.must(err == nil && slices.Contains([]string{"grpc", "grpcs", "http", "https"}, u.Scheme) && u.Hostname() != "" && u.Port() != "" &&
			u.User == nil && strings.TrimSuffix(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "")
	}
	return v
}

func endpoint(p *string) value {
	v := value{kind: "url", allowed: "an http or https URL", show: func() string { return redact(*p) }}
	v.set = func(text string) error {
		*p = text
		u, err := url.Parse(text)
		return v.must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "")
	}
	return v
}

// keySet shows only the size of JSON: it is long, and could be a private key set by mistake.
func keySet(p *string) value {
	v := text(p, "a JWKS as JSON, a file, or an https URL")
	v.show = func() string {
		if strings.HasPrefix(strings.TrimSpace(*p), "{") {
			return fmt.Sprintf("JSON of %d bytes", len(*p))
		}
		return redact(*p)
	}
	return v
}

func redact(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

func secrets(p *[]string) value {
	v := value{kind: "secret", allowed: fmt.Sprintf("%d characters or more, several comma-separated", shortestSecret)}
	v.show = func() string { return masked(len(*p)) }
	v.set = func(text string) error {
		*p = splitList(text)
		for _, secret := range *p {
			if len(secret) < shortestSecret {
				return v.must(false)
			}
		}
		return v.must(len(*p) > 0)
	}
	return v
}

// agentKeys are secrets that are sent as a subprotocol of a WebSocket.
func agentKeys(p *[]string) value {
	v := secrets(p)
	v.allowed = fmt.Sprintf("%d characters or more that an HTTP token may have, such as letters, digits, - and _; several comma-separated", shortestSecret)
	v.set = func(text string) error {
		*p = splitList(text)
		for _, key := range *p {
			if orchestrator.ValidKey(key) != nil {
				return v.must(false)
			}
		}
		return v.must(len(*p) > 0)
	}
	return v
}

func masked(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return mask
	default:
		return fmt.Sprintf("%s (%d of them)", mask, n)
	}
}

func keks(p *[][]byte) value {
	v := value{kind: "secret", allowed: fmt.Sprintf("%d bytes in base64, several comma-separated", token.KEKBytes)}
	v.show = func() string { return masked(len(*p)) }
	v.set = func(text string) (err error) {
		*p, err = token.ParseKEKs(text)
		return v.must(err == nil)
	}
	return v
}

// databaseURL is parsed here, so that a mistake is found before anything starts. Its errors contain no password.
func databaseURL(p *string) value {
	v := value{kind: "url", allowed: "postgres://user:password@host:port/database, or key=value"}
	v.show = func() string { return withoutPassword(*p) }
	v.set = func(text string) error {
		*p = text
		_, err := pgx.ParseConfig(text)
		return v.must(err == nil)
	}
	return v
}

var passwordWord = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)

func withoutPassword(text string) string {
	return passwordWord.ReplaceAllString(redact(text), "${1}xxxxx")
}

// modeSizes are the numbers of seats of a session, by mode.
type modeSizes map[string]int

func (m modeSizes) String() string {
	var items []string
	for _, mode := range slices.Sorted(maps.Keys(m)) {
		items = append(items, mode+"="+strconv.Itoa(m[mode]))
	}
	return strings.Join(items, ",")
}

// spellings returns the modes that a variable's name may mean: variables are usually in capitals and cannot contain a dash.
func spellings(name string) []string {
	low := strings.ToLower(name)
	return []string{name, low, strings.ReplaceAll(low, "_", "-")}
}

var modeName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func sizes(p *modeSizes) value {
	v := value{kind: "list", allowed: "mode=seats with 1 to 1024 seats, comma-separated"}
	v.show = func() string { return p.String() }
	v.set = func(text string) error {
		*p = modeSizes{}
		for _, item := range splitList(text) {
			name, number, _ := strings.Cut(item, "=")
			variable, fromEnv := strings.CutPrefix(name, modePrefix)
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > 1024 || !modeName.MatchString(variable) {
				return fmt.Errorf("%s: %w", item, v.must(false))
			}
			(*p)[variable] = n
			if fromEnv {
				p.addSpellings(variable, n)
			}
		}
		return nil
	}
	return v
}

// addSpellings sets the size for the other spellings of a mode, unless a more literal name has set one.
func (m modeSizes) addSpellings(variable string, n int) {
	for _, mode := range spellings(variable) {
		if _, set := m[mode]; !set {
			m[mode] = n
		}
	}
}
