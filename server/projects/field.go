package projects

import (
	"math"
	"strconv"
	"strings"
)

// textOf converts a field as Nexis does: numbers and booleans become their text; anything else that is no text is
// absent.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	default:
		return ""
	}
}

const (
	leastTTL, mostTTL = 30, 86_400 // seconds
	defaultTTL        = 3600
)

// ttlOf returns the lifetime of a token in seconds; anything but a number is the default.
func ttlOf(v any) int {
	seconds, ok := v.(float64)
	if !ok {
		return defaultTTL
	}
	// Nexis floors and clamps it, and its scripts may ask for any number.
	return int(min(max(math.Floor(seconds), leastTTL), mostTTL))
}

// scopesOf returns the scopes that a request lists, each once; none for anything but a list of texts.
func scopesOf(v any) []string {
	list, _ := v.([]any)
	var scopes []string
	seen := map[string]bool{}
	for _, item := range list {
		text, _ := item.(string)
		if text = strings.TrimSpace(text); text != "" && !seen[text] {
			scopes, seen[text] = append(scopes, text), true
		}
	}
	return scopes
}
