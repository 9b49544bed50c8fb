ALTER TABLE "macros" ADD COLUMN "format" text;--> statement-breakpoint
-- The form that texts of before had: HTML with at least one element that is kept.
UPDATE macros SET format = CASE WHEN body ~* '<(a|abbr|address|article|aside|b|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|div|dl|dt|em|figcaption|figure|font|footer|h1|h2|h3|h4|h5|h6|header|hr|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var)(\s[^<>]*)?/?>' THEN 'html' ELSE 'text' END
WHERE body IS NOT NULL;