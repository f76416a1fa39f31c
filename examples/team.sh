# A server for a team: keys, your own Postgres, backup, restore elsewhere, key rotation, and the
# export and erasure of a person. The steps of docs/deploying.md, in one script.
#
#     pip install 'remembrancer[all]'
#     export REMEMBRANCER_DATABASE_URL=postgresql://…  REMEMBRANCER_DATABASE_OWNER_URL=postgresql://…
#     export ELSEWHERE=postgresql://…  # of its owner
#     bash examples/team.sh
set -euo pipefail
umask 077  # keys and exports are for this account alone

secret() { python3 -c 'import json, sys; print(json.load(sys.stdin)["secret"])'; }

remembrancer doctor

remembrancer keys create "discord bot" --json | secret > bot.key
remembrancer users resolve discord 1844 --name Ada
remembrancer keys create "Ada's laptop" --role user --user discord:1844 --json | secret > ada.key

remembrancer remember "I drink tea, never coffee." --user discord:1844

remembrancer backup store.backup
remembrancer restore store.backup --check
remembrancer --database-url "$ELSEWHERE" restore store.backup
remembrancer --database-url "$ELSEWHERE" recall "What does Ada drink?" --user discord:1844

remembrancer keys rotate "discord bot" --json | secret > bot.key
remembrancer keys revoke "discord bot (old)"
remembrancer keys list

remembrancer users export discord:1844 --output ada.jsonl
remembrancer users erase discord:1844
remembrancer users erase discord:1844 --apply --yes
