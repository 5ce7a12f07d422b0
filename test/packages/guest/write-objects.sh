#!/bin/sh
# Creates objects one after the other, and says of each that was acknowledged.
number=0
while :; do
  number=$((number + 1))
  guest-api POST /api/v1/namespaces/default/configmaps \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"acknowledged-$number\"}}" >/dev/null 2>&1 &&
    echo "say acknowledged-$number" >/dev/ttyS1
done
