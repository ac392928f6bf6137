# Images that stand in for those of compose.yaml where none can be pulled (ops/stand-ins.sh). director-check-services is Debian with
# the packages postgresql, haproxy and prometheus. Each stage behaves as the image that it stands in for, as far as compose.yaml needs.

FROM director-check-services AS postgres
RUN install --directory --owner postgres /var/run/postgresql && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/
COPY stand-ins-postgres.sh /entrypoint.sh
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["/entrypoint.sh"]
CMD ["postgres"]

FROM director-check-services AS haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]

FROM director-check-services AS prometheus
USER nobody
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/tmp/prometheus"]
