package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/internal/base/network"
	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
)

// value is a kind of setting, bound to the variable that holds it.
type value struct {
	kindName     string   // for --help: duration, number, …
	allowedText  string   // the allowed values, for people
	allowedWords []string // the allowed values, if they are few
	keepsSpace   bool     // setText gets the white space around it, to keep or to refuse it; otherwise it is removed
	setText      func(text string) error
	showText     func() string // the value, with secrets masked
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

// requireAllowed names what is allowed, and not the value: it may be a secret.
func (v value) requireAllowed(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("it must be " + v.allowedText)
}

// textValue takes any text: a file or a name, which only its use can judge.
func textValue(p *string, allowed string) value {
	v := value{kindName: "text", allowedText: allowed, showText: func() string { return *p }}
	v.setText = func(text string) error { *p = text; return nil }
	return v
}

// checkedText is a text that must be valid. A refused one is assigned as well: the command then does not run.
func checkedText(p *string, kind, allowed string, isValid func(text string) bool) value {
	v := value{kindName: kind, allowedText: allowed, showText: func() string { return *p }}
	v.setText = func(text string) error { *p = text; return v.requireAllowed(isValid(text)) }
	return v
}

// lineValue is text without line breaks, such as an issuer, which is compared with that of a token: nobody sees that a
// line break within it makes them differ.
func lineValue(p *string) value {
	return checkedText(p, "text", "text on one line",
		func(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) })
}

// integerValue is a number with bounds, both included.
func integerValue[T ~int | ~int32](p *T, least, most T) value {
	v := value{kindName: "number", allowedText: fmt.Sprintf("%d to %d", least, most),
		showText: func() string { return fmt.Sprint(*p) }}
	v.setText = func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		// Assigned before it is checked, because the limits have the type of *p. A refused value has no effect, since
		// the command then does not run.
		*p = T(n)
		return v.requireAllowed(err == nil && least <= *p && *p <= most)
	}
	return v
}

// rateValue is the average of a rate, whose burst grows with it: a rate of twice the default has twice the burst. 0 is
// no limit.
func rateValue(p *rest.Rate) value {
	var n int
	// Read now: the option still has its default.
	burst := p.Burst / int(p.PerSecond)
	v := integerValue(&n, 0, 1_000_000)
	v.showText = func() string { return strconv.Itoa(max(0, int(p.PerSecond))) } // -1 was given as 0
	set := v.setText
	v.setText = func(text string) error {
		err := set(text)
		*p = rest.Rate{PerSecond: float64(n), Burst: n * burst}
		if n == 0 {
			p.PerSecond = -1 // no limit: an option that is zero is the default
		}
		return err
	}
	return v
}

// durationValue is a duration with a unit, in Go's syntax; a plain number is refused, since its unit would be a guess.
func durationValue(p *time.Duration, least, most time.Duration) value {
	v := value{kindName: "duration", allowedText: briefDuration(least) + " to " + briefDuration(most),
		showText: func() string { return briefDuration(*p) }}
	v.setText = func(text string) (err error) {
		*p, err = time.ParseDuration(text)
		if err != nil {
			return errors.New("it must be a duration such as 90s, 2m or 24h, " + v.allowedText)
		}
		return v.requireAllowed(least <= *p && *p <= most)
	}
	return v
}

// durationOrNoneValue is a duration of an option whose zero value is the default: 0 makes it negative, which is none.
func durationOrNoneValue(p *time.Duration, most time.Duration) value {
	v := durationValue(p, 0, most)
	v.showText = func() string { return briefDuration(max(0, *p)) } // -1 was given as 0
	set := v.setText
	v.setText = func(text string) error {
		err := set(text)
		if *p == 0 {
			*p = -1
		}
		return err
	}
	return v
}

// briefDuration formats a duration without trailing units that are zero.
func briefDuration(d time.Duration) string { return timetext.Brief(d) }

// word is a text that a setting allows, and the value of the option that it means.
type word[T any] struct {
	text       string
	meansValue T
}

// oneOf is one of several words.
func oneOf[T comparable](p *T, words ...word[T]) value {
	v := value{kindName: "word", allowedWords: make([]string, len(words))}
	for i, w := range words {
		v.allowedWords[i] = w.text
	}
	v.allowedText = strings.Join(v.allowedWords[:len(words)-1], ", ") + " or " + v.allowedWords[len(words)-1]
	v.showText = func() string {
		// It panics for a value without a word: the default of the option must be one of them.
		return words[slices.IndexFunc(words, func(w word[T]) bool { return w.meansValue == *p })].text
	}
	v.setText = func(text string) error {
		i := slices.Index(v.allowedWords, text)
		if i < 0 {
			return v.requireAllowed(false)
		}
		*p = words[i].meansValue
		return nil
	}
	return v
}

// choiceValue is one of several words, which are the values of the option.
func choiceValue[T ~string](p *T, texts ...T) value {
	words := make([]word[T], len(texts))
	for i, text := range texts {
		words[i] = word[T]{string(text), text}
	}
	return oneOf(p, words...)
}

// booleanValue shows true and false, and reads everything that strconv.ParseBool does.
func booleanValue(p *bool) value {
	v := oneOf(p, word[bool]{"true", true}, word[bool]{"false", false})
	v.kindName = kindBool
	v.setText = func(text string) (err error) {
		*p, err = strconv.ParseBool(text)
		return v.requireAllowed(err == nil)
	}
	return v
}

// poolerValue is the kind of pooler before the database.
func poolerValue(p *string) value {
	return oneOf(p, word[string]{"none", ""}, word[string]{"pgbouncer", "pgbouncer"})
}

// splitList splits at commas. Empty items are left out, such as that after a comma at the end.
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item != "" {
			items = append(items, item)
		}
	}
	return items
}

// listValue reads items between commas. Nothing is judged but by checkedItems.
func listValue(p *[]string, allowed string) value {
	return value{
		kindName: "list", allowedText: allowed + ", comma-separated",
		showText: func() string { return strings.Join(*p, ",") },
		setText:  func(text string) error { *p = splitList(text); return nil },
	}
}

// checkedItems makes a list refuse itself unless all of its items are valid.
func (v value) checkedItems(p *[]string, isValid func(item string) bool) value {
	v.setText = func(text string) error {
		*p = splitList(text)
		return v.requireAllowed(!slices.ContainsFunc(*p, func(item string) bool { return !isValid(item) }))
	}
	return v
}

// notEmpty makes a list refuse a text without items, such as a comma alone: somebody who sets it wants some.
func (v value) notEmpty(p *[]string) value {
	set := v.setText
	v.setText = func(text string) error {
		if err := set(text); err != nil {
			return err
		}
		return v.requireAllowed(len(*p) > 0)
	}
	return v
}

func networksValue(p *[]string) value {
	return listValue(p, "addresses or CIDRs").checkedItems(p, func(item string) bool {
		_, err := network.ParseOrAddress(item)
		return err == nil
	})
}

func addressValue(p *string) value { return checkedText(p, "address", "host:port", isListenAddress) }

// addressesValue is a list of listen addresses.
func addressesValue(p *[]string) value {
	return listValue(p, "host:port").checkedItems(p, isListenAddress).notEmpty(p)
}

// isListenAddress accepts port 0, any free port, and an empty host, all interfaces. A port by name is refused: its
// number depends on the machine.
func isListenAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	_, notPort := strconv.ParseUint(port, 10, 16)
	return err == nil && notPort == nil
}

// dialledValue is the address that players dial. It has the rules of the API, which would refuse the registration
// later.
func dialledValue(p *string) value {
	return checkedText(p, "text", rest.Endpoint.Description, rest.Endpoint.Valid)
}

// gameRegionValue is a region, with the rules of the API: ids of sessions contain it, and are split at a dot.
func gameRegionValue(p *string) value {
	return checkedText(p, "text", rest.Region.Description, rest.Region.Valid)
}

// evaluatorURLValue is only a host and a port, as Open Match's own configuration has them: a path or a password would
// have no effect.
func evaluatorURLValue(p *string) value {
	return checkedText(p, "text", "grpc://host:port or http://host:port, or grpcs or https", func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && slices.Contains([]string{"grpc", "grpcs", "http", "https"}, u.Scheme) &&
			endpoint.HasHost(u) && u.Port() != "" &&
			u.User == nil && strings.TrimSuffix(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
	})
}

// urlValue is shown without its password, which a URL may have.
func urlValue(p *string) value {
	v := checkedText(p, "url", "an http or https URL", isWebURL)
	v.showText = func() string { return redactURL(*p) }
	return v
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && endpoint.HasHost(u)
}

// modesText returns the numbers of seats of a session, by mode, as a flag has them.
func modesText(sizes play.Modes) string {
	items := make([]string, 0, len(sizes))
	for _, mode := range slices.Sorted(maps.Keys(sizes)) {
		items = append(items, mode+"="+strconv.Itoa(sizes[mode]))
	}
	return strings.Join(items, ",")
}

// modeSpellings returns the modes that a variable's name may mean: variables are usually in capitals and cannot contain
// a dash.
func modeSpellings(name string) []string {
	low := strings.ToLower(name)
	return []string{name, low, strings.ReplaceAll(low, "_", "-")}
}

var modeName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// modeSizesValue reads mode=seats of the flag, and DIRECTOR_MODE_X=seats of variables, as joinPrefixed has them.
func modeSizesValue(p *play.Modes) value {
	v := value{kindName: "list", allowedText: "mode=seats with 1 to 1024 seats, comma-separated"}
	v.showText = func() string { return modesText(*p) }
	v.setText = func(text string) error {
		*p = play.Modes{}
		for _, item := range splitList(text) {
			// Without = the number is empty, which is refused below.
			name, number, _ := strings.Cut(item, "=")
			variable, fromEnv := strings.CutPrefix(name, modePrefix)
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > 1024 || !modeName.MatchString(variable) {
				return fmt.Errorf("%s: %w", item, v.requireAllowed(false))
			}
			// The last one wins, as on a command line that repeats a flag.
			(*p)[variable] = n
			// Not of a flag, which can spell the mode exactly.
			if fromEnv {
				addSpellings(*p, variable, n)
			}
		}
		return nil
	}
	return v
}

// addSpellings sets the size for the other spellings of a mode, unless another variable names that spelling itself.
func addSpellings(sizes play.Modes, variable string, n int) {
	for _, mode := range modeSpellings(variable) {
		if _, set := sizes[mode]; !set {
			sizes[mode] = n
		}
	}
}

// redactURL replaces the password of a URL. Text that is no URL stays as it is.
func redactURL(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
