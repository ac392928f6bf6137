# Two images from one build:
#   docker build --target director -t lattice-director .    the control plane
#   docker build --target arena    -t lattice-arena .       the example game server and its bots
# Both are a static binary on a base that holds CA certificates, time zones and an unprivileged user (65532), and no shell.

FROM golang:1.26-bookworm AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN go build -trimpath -tags nomsgpack,grpcnotrace -ldflags "-s -w -X main.version=${VERSION}" -o /out/director ./cmd/director \
 && go build -trimpath -ldflags "-s -w" -o /out/arena ./examples/arena

FROM gcr.io/distroless/static-debian12:nonroot AS arena
COPY --from=build /out/arena /arena
ENTRYPOINT ["/arena"]

# Last, so that a build without --target makes this one.
# No HEALTHCHECK: without a shell there is nothing to run it with. Ask /readyz (in turn) and /healthz (alive) from outside, as
# Kubernetes probes and the balancer of compose.yaml do.
FROM gcr.io/distroless/static-debian12:nonroot AS director
COPY --from=build /out/director /director
# The program listens on the loopback unless told otherwise; nobody would reach that in a container.
ENV DIRECTOR_ADDR=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/director"]
CMD ["serve"]
