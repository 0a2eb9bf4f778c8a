"""Cases APB-001 to 003 of agent-security-harness, unchanged, against whatever answers its operations at URL: what does an approval bind?"""

import json
import os
import urllib.request

from protocol_tests.approval_binding_harness import ApprovalBindingHarness


def target(request):
    asked = urllib.request.Request(
        os.environ["URL"], json.dumps(request).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=120) as answer:
        return json.load(answer)


results = ApprovalBindingHarness(target, tool="send_transfer").run_all()
print(json.dumps([{"case": it.test_id, "passed": it.passed, "details": it.details} for it in results]))
