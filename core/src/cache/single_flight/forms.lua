-- How the header of an entry is packed. The short form is of a value that no caller loaded or loads, whose version, last token and
-- time are one number.
local FORM, SHORT_FORM = '<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8', '<c3Bc16I7I7I2'
