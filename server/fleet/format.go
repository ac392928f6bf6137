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
	certDigest  = matching(128, "up to 128 characters of A-Z a-z 0-9 : + / = _ -", `^[A-Za-z0-9:+/=_-]*$`)
	providerRef = matching(provider.MaxRefBytes, "up to 128 characters of A-Z a-z 0-9 . _ : / -", `^[A-Za-z0-9._:/-]*$`)
	labelKey    = matching(63, "1 to 63 characters of A-Z a-z 0-9 . _ / -", `^[A-Za-z0-9._/-]+$`)
	labelValue  = text(0, 255)
	incarnation = rest.Format{
		Description: `"none" or an incarnation, a UUID`,
		Valid:       func(s string) bool { return s == noIncarnation || len(s) == 36 && uuid.Validate(s) == nil },
	}
	version = text(0, 64)
	tokenID = text(1, 128)
)

// matching is a format of at most maxLen bytes that match the pattern. Only registrations use it: regexp is slower than
// the tables of rest.Format.
func matching(maxLen int, allowed, pattern string) rest.Format {
	re := regexp.MustCompile(pattern)
	return rest.Format{Description: allowed,
		Valid: func(s string) bool { return len(s) <= maxLen && re.MatchString(s) }}
}

// text is a format of minLen to maxLen characters. Control characters are not allowed: Postgres cannot store U+0000,
// and the others change how terminals display a log.
func text(minLen, maxLen int) rest.Format {
	return rest.Format{
		Description: fmt.Sprintf("%d to %d characters without control characters", minLen, maxLen),
		Valid: func(s string) bool {
			n := utf8.RuneCountInString(s)
			return n >= minLen && n <= maxLen && !strings.ContainsFunc(s, unicode.IsControl)
		},
	}
}
