"""200 names for classes, columns and files that break what is careless with names.

None holds NUL, and none is empty. Where a page runs one of them as a script, `window.pwned` is set.
"""

from __future__ import annotations

_WORDS = r"""
<script>window.pwned=1</script>  </script><script>window.pwned=1</script>
<SCRIPT>window.pwned=1</SCRIPT>  <scr<script>ipt>window.pwned=1</scr</script>ipt>
<script/x>window.pwned=1</script>  <img/src=x/onerror=window.pwned=1>
<svg><script>window.pwned=1</script></svg>  <style>@import'javascript:window.pwned=1';</style>
<style>*{background:url(javascript:window.pwned=1)}</style>
<template><script>window.pwned=1</script></template>  </title><script>window.pwned=1</script>
--><script>window.pwned=1</script><!--  ]]><script>window.pwned=1</script>
<![CDATA[<script>window.pwned=1</script>]]>  &lt;script&gt;window.pwned=1&lt;/script&gt;
&#x3c;script&#x3e;  &amp;amp;  "/><script>window.pwned=1</script>  x:expression(window.pwned=1)
red;background:url(javascript:window.pwned=1)  javascript:window.pwned=1  JaVaScRiPt:window.pwned=1
javascript://%0awindow.pwned=1  data:text/html,<script>opener.pwned=1</script>
data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==  vbscript:window.pwned=1
//evil.example/x.js  https://evil.example/x.js  file:///etc/passwd  ';window.pwned=1;'
";window.pwned=1;"  `;window.pwned=1;`  ${window.pwned=1}  `${window.pwned=1}`  '+(window.pwned=1)+'
"+(window.pwned=1)+"  \';window.pwned=1;//  \";window.pwned=1;//  */window.pwned=1/*  {{window.pwned=1}}
{{constructor.constructor('window.pwned=1')()}}  {{7*7}}  #{7*7}  $(window.pwned=1)  __proto__
constructor  prototype  toString  hasOwnProperty  valueOf  __defineGetter__  then  length  pwned  null
undefined  NaN  Infinity  -0  true  0  1e400  =1+1  =HYPERLINK("http://evil.example","a")  +1+1  -1+1
@SUM(1;1)  a,b  a;b  a"b  ""  "a","b"  -rf  --help  --out=/tmp/pwned  !!  $HOME  %PATH%  ~  *  .  ..
../../etc/passwd  ..\..\windows\win.ini  %2e%2e%2fetc%2fpasswd  /etc/passwd  C:\windows\win.ini
\\server\share  CON  a/b.csv  .hidden  a.csv.  report.html  x.csv;y=.html  '''  \  a\  \\  \n
\N{BULLET}  \x41\u0041  %s%n%d  %(name)s  {0}{name!r}  {0.__class__}
"""

NAMES = [
    *_WORDS.split(),
    "<script src=data:text/javascript,window.pwned=1></script>",
    "<script\n>window.pwned=1</script\n>",
    "<script type=module>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<img src=x onerror='window.pwned=1'>",
    '<img src="x" onerror="window.pwned=1">',
    "<IMG SRC=x ONERROR=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:window.pwned=1><text>a</text></a></svg>",
    "<math><mtext></form><form><mglyph><svg><mtext><style><img src onerror=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<iframe src=javascript:parent.pwned=1></iframe>",
    "<object data=javascript:window.pwned=1></object>",
    "<embed src=javascript:window.pwned=1>",
    "<body onload=window.pwned=1>",
    "<input autofocus onfocus=window.pwned=1>",
    "<select autofocus onfocus=window.pwned=1>",
    "<textarea autofocus onfocus=window.pwned=1>",
    "<details open ontoggle=window.pwned=1>",
    "<video><source onerror=window.pwned=1></video>",
    "<audio src=x onerror=window.pwned=1>",
    "<marquee onstart=window.pwned=1>",
    "<link rel=stylesheet href=javascript:window.pwned=1>",
    "<meta http-equiv=refresh content='0;url=javascript:window.pwned=1'>",
    "<base href=javascript:/>",
    "<form action=javascript:window.pwned=1><button>a</button></form>",
    "<a href=javascript:window.pwned=1>a</a>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<title></title><img src=x onerror=window.pwned=1>",
    "</textarea><img src=x onerror=window.pwned=1>",
    "</style><img src=x onerror=window.pwned=1>",
    "<!--<img src='--><img src=x onerror=window.pwned=1>'>",
    "<?xml version='1.0'?><x/>",
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
    "&#60;img src=x onerror=window.pwned=1&#62;",
    "\uff1cscript\uff1ewindow.pwned=1\uff1c/script\uff1e",
    '" onmouseover="window.pwned=1',
    "' onmouseover='window.pwned=1",
    "` onmouseover=`window.pwned=1",
    '" autofocus onfocus=window.pwned=1 x="',
    '"><img src=x onerror=window.pwned=1>',
    "'><img src=x onerror=window.pwned=1>",
    "><img src=x onerror=window.pwned=1>",
    " onerror=window.pwned=1 ",
    "java\tscript:window.pwned=1",
    "java\nscript:window.pwned=1",
    "\x01javascript:window.pwned=1",
    " javascript:window.pwned=1",
    "//\u2028window.pwned=1",
    "//\u2029window.pwned=1",
    "\u2028",
    "\u2029",
    "{% include '/etc/passwd' %}",
    "{# a #}",
    "<%= 7*7 %>",
    "[object Object]",
    "=cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "' OR '1'='1",
    "'; DROP TABLE runs; --",
    "1; ATTACH DATABASE 'x' AS y",
    "# a comment",
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "| touch pwned",
    "&& touch pwned",
    "> pwned",
    "a.csv ",
    '"""',
    '"""\nimport os\n"""',
    "']\n[inline]\n['",
    '"\n[model]\n"',
    "key = 'value'",
    "\u202egnp.exe",
    "\u2066a\u2069\u202b",
    "\u200b",
    "a\u200db\u200c",
    "\ufeffname",
    "\x01\x02\x1b[31mred\x1b[0m\x07",
    "\x7f\x80\x9f",
    "e\u0301" * 40,
    "Z" + "\u0335\u0321\u034f" * 60,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\ufffd\ufffe\uffff",
    "\U0010ffff",
    "\u0130\u0131\u017f\u212a",
    " ",
    "x" * 10_000,
]
