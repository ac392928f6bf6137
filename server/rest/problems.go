package rest

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
)

// The problems of HTTP itself, which any call may have.
var (
	errBodyTooLarge = &Problem{
		Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Title: "Body too large",
		Detail: "The body must not be longer than 64 KiB.",
	}
	errBodyTooSlow = &Problem{
		Status: http.StatusRequestTimeout, Code: "request_timeout", Title: "Request timeout",
		Detail: "The body did not arrive in time.",
	}
	errUnsupportedMedia = &Problem{
		Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Title: "Unsupported media type",
		Detail: "The body must be application/json in UTF-8, not compressed.",
	}
	errUnsupportedForm = &Problem{
		Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Title: "Unsupported media type",
		Detail: "The body must be a form, application/x-www-form-urlencoded.",
	}
	errNoRoute = &Problem{
		Status: http.StatusNotFound, Code: "route_not_found", Title: "No such route",
		Detail: "Nothing is served at this path.",
	}
	errNoMethod = &Problem{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Title: "Method not allowed",
		Detail: "The Allow header lists the methods of this path.",
	}
)

// notFound answers paths without a route. Its code differs from that of a missing object: a game server whose instance
// is unknown registers again, while one with a wrong base URL cannot.
func notFound(c *gin.Context) { Fail(c, errNoRoute) }

// methodNotAllowed answers a method that the path does not have; gin has set Allow.
func methodNotAllowed(c *gin.Context) { Fail(c, errNoMethod) }

func internalProblem() Problem {
	return Problem{
		Status: http.StatusInternalServerError, Code: "internal", Title: "Internal error",
		Detail: "Something failed on our side. The request id finds it in the log.",
	}
}

func unavailableProblem(detail string) Problem {
	p := kinds[fault.Unavailable]
	p.Detail = detail
	return p
}

func rateLimitedProblem(wait time.Duration) *Problem {
	return &Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Title: "Too many requests",
		Detail: "Too many requests in a short time.", RetryAfter: wait,
	}
}

func unauthorizedProblem(detail string) *Problem {
	return &Problem{Status: http.StatusUnauthorized, Code: "unauthorized", Title: "Unauthorized", Detail: detail}
}

func notJSON(detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Title: "Invalid JSON", Detail: detail}
}

func fieldProblem(field, detail string) *Problem {
	return fieldProblems([]FieldError{{Field: field, Detail: detail}})
}

func fieldProblems(errors []FieldError) *Problem {
	p := kinds[fault.Invalid]
	p.Detail = errors[0].Field + " " + errors[0].Detail
	p.Errors = errors
	return &p
}
