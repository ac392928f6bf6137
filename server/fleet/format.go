package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/server/rest"
)

// The formats that only game servers send. api/openapi.yaml specifies them.
var (
	certDigest  = matchingFormat(128, "up to 128 characters of A-Z a-z 0-9 : + / = _ -", `^[A-Za-z0-9:+/=_-]*$`)
	providerRef = matchingFormat(provider.MaxRefBytes, "up to 128 characters of A-Z a-z 0-9 . _ : / -", `^[A-Za-z0-9._:/-]*$`)
	labelKey    = matchingFormat(63, "1 to 63 characters of A-Z a-z 0-9 . _ / -", `^[A-Za-z0-9._/-]+$`)
	labelValue  = textFormat(0, 255) // may be empty: a label without a value marks an instance
	incarnation = rest.Format{
		Description: `"none" or an incarnation, a UUID`,
		Valid:       func(s string) bool { return s == noIncarnation || len(s) == 36 && uuid.Validate(s) == nil },
	}
	version = textFormat(0, 64)
	tokenID = textFormat(1, 128)
)

// matchingFormat is a format of at most maxLen bytes that match the pattern. Only registrations use it: regexp is
// slower than the tables of rest.Format.
func matchingFormat(maxLen int, allowed, pattern string) rest.Format {
	re := regexp.MustCompile(pattern)
	return rest.Format{Description: allowed,
		Valid: func(s string) bool { return len(s) <= maxLen && re.MatchString(s) }}
}

// textFormat is a format of minLen to maxLen characters. Control characters are not allowed: Postgres cannot store
// U+0000, and the others change how terminals display a log.
func textFormat(minLen, maxLen int) rest.Format {
	return rest.Format{
		Description: fmt.Sprintf("%d to %d characters without control characters", minLen, maxLen),
		Valid: func(s string) bool {
			n := utf8.RuneCountInString(s)
			return n >= minLen && n <= maxLen && !strings.ContainsFunc(s, unicode.IsControl)
		},
	}
}

// noIncarnation is the value of replaces for a process whose instance id should not be registered yet.
const noIncarnation = "none"
