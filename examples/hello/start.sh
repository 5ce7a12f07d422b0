#!/bin/sh
# Takes its time, as real programs do, and then serves /www until it is asked to end.
trap 'exit 0' TERM
echo "starting"
sleep 2 &
wait $!
echo "serving /www on port 8080"
httpd -f -vv -p 8080 -h /www &
wait $!
