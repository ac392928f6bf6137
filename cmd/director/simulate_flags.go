package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/match/simulate"
)

// simulateFlags are the flags of simulate that need parsing before they become options of package simulate.
type simulateFlags struct {
	profile, report, from   string
	players                 int
	skill, parties, regions string
	numbers, texts          []string
	accept                  float64
}

// fillOptions parses the flags that are texts.
func (f *simulateFlags) fillOptions(p *program, o *simulate.Options) (err error) {
	if o.Profile, err = p.profileToTry(f.profile); err != nil {
		return err
	}
	// All mistakes at once.
	var bad [6]error
	o.From, bad[0] = parseMoment("from", f.from, time.Now())
	o.Skill, bad[1] = parseSkill(f.skill)
	o.Parties, bad[2] = parseParties(f.parties)
	o.Regions, bad[3] = parseShares("regions", f.regions)
	o.Numbers, bad[4] = parseByName("number", f.numbers, parseDistribution)
	o.Texts, bad[5] = parseByName("text", f.texts, parseWords)
	if err := errors.Join(bad[:]...); err != nil {
		return cli.Usage(err)
	}
	// 0 is a flag that was not given: --rate counts.
	if f.players > 0 {
		// Tickets and not players arrive at a rate: a party is one ticket.
		o.Rate = float64(f.players) / o.PartyMean() / (o.Hours * time.Hour.Seconds())
		if o.Rate > simulate.MaxRate {
			return cli.Usage(fmt.Errorf("--players %d is not allowed: within --hours %g, at most %d tickets a second may arrive",
				f.players, o.Hours, simulate.MaxRate))
		}
	}
	return nil
}

// parseMoment reads a time, or a duration before now.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--%s %q is not allowed: it must be a time such as 2026-01-05T18:00:00Z, or how long ago, such as 24h", flag, text)
	}
	return at, nil
}

// parseSkill reads normal:1500,300.
func parseSkill(text string) (simulate.Skill, error) {
	d, err := parseDistribution(text)
	if err != nil || d.Shape != simulate.Normal && d.Shape != simulate.Bimodal {
		return simulate.Skill{}, fmt.Errorf("--skill %q is not allowed: it must be normal or bimodal with a mean and a deviation, such as normal:1500,300", text)
	}
	return simulate.Skill{Mean: d.A, Deviation: d.B, Bimodal: d.Shape == simulate.Bimodal}, nil
}

// parseByName reads values of a flag that each name an attribute, such as level=uniform:1,60.
func parseByName[T any](flag string, values []string, parse func(string) (T, error)) (map[string]T, error) {
	all := map[string]T{}
	for _, value := range values {
		name, text, found := strings.Cut(value, "=")
		if _, twice := all[name]; twice || !found || name == "" {
			return nil, fmt.Errorf("--%s %q is not allowed: it must be an attribute, = and its distribution, and name an attribute once", flag, value)
		}
		one, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flag, name, err)
		}
		all[name] = one
	}
	return all, nil
}

// parseDistribution reads normal:1500,300, bimodal:1500,300, uniform:1,60 or constant:7.
func parseDistribution(text string) (simulate.Distribution, error) {
	shape, list, _ := strings.Cut(text, ":")
	var numbers []float64
	for part := range strings.SplitSeq(list, ",") {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil {
			numbers = nil
			break
		}
		numbers = append(numbers, x)
	}
	switch {
	case shape == "constant" && len(numbers) == 1:
		return simulate.Distribution{Shape: simulate.Constant, A: numbers[0]}, nil
	// All other shapes take two numbers; the error below says so.
	case len(numbers) != 2:
	case shape == "normal":
		return simulate.Distribution{Shape: simulate.Normal, A: numbers[0], B: numbers[1]}, nil
	case shape == "bimodal":
		return simulate.Distribution{Shape: simulate.Bimodal, A: numbers[0], B: numbers[1]}, nil
	// 1.0,60 means fractions as well, 1,60 whole numbers such as levels.
	case shape == "uniform" && strings.ContainsAny(list, ".e"):
		return simulate.Distribution{Shape: simulate.Uniform, A: numbers[0], B: numbers[1]}, nil
	case shape == "uniform":
		return simulate.Distribution{Shape: simulate.Whole, A: numbers[0], B: numbers[1]}, nil
	}
	return simulate.Distribution{}, fmt.Errorf("%q is not allowed: it must be normal:MEAN,DEVIATION, bimodal:MEAN,DEVIATION, uniform:FROM,TO "+
		"(whole numbers, unless one is written with a point) or constant:NUMBER", text)
}

// parseWords reads choice:dust:3,mirage:1 or constant:dust. A word without a share has the share 1.
func parseWords(text string) ([]simulate.Share, error) {
	shape, list, _ := strings.Cut(text, ":")
	if shape == "constant" && list != "" {
		return []simulate.Share{{Name: list, Weight: 1}}, nil
	}
	refused := fmt.Errorf("%q is not allowed: it must be choice:WORD:SHARE,WORD:SHARE or constant:WORD", text)
	if shape != "choice" {
		return nil, refused
	}
	var shares []simulate.Share
	for part := range strings.SplitSeq(list, ",") {
		name, share, has := strings.Cut(part, ":")
		weight := 1.0
		if has {
			weight, _ = strconv.ParseFloat(share, 64) // 0, which is refused, if it is no number
		}
		if name == "" || !(weight > 0 && weight < 1e9) ||
			slices.ContainsFunc(shares, func(s simulate.Share) bool { return s.Name == name }) {
			return nil, refused
		}
		shares = append(shares, simulate.Share{Name: name, Weight: weight})
	}
	return shares, nil
}

// parseParties reads 1:70,2:20.
func parseParties(text string) ([]simulate.Share, error) {
	shares, err := parseShares("parties", text)
	for i := range shares {
		size, bad := strconv.Atoi(shares[i].Name)
		if bad != nil || size < 1 {
			return nil, fmt.Errorf("--parties: %q is no number of players", shares[i].Name)
		}
		shares[i].Size = size
	}
	return shares, err
}

// parseShares reads eu:45,us:35.
func parseShares(flag, text string) (shares []simulate.Share, err error) {
	// An empty text has no shares, and is no error: without regions, tickets have no latencies.
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, weight, _ := strings.Cut(part, ":")
		w, err := strconv.ParseFloat(weight, 64)
		if name == "" || err != nil || !(w > 0 && w < 1e9) {
			return nil, fmt.Errorf("--%s: %q must be a name and a share above 0, such as eu:45", flag, part)
		}
		shares = append(shares, simulate.Share{Name: name, Weight: w})
	}
	return shares, nil
}
