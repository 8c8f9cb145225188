// The operators of templates.
#pragma once

#include <string_view>

#include "template/value.h"

namespace fwl {

// + - * / // %
TemplateValue arithmetic_result(TemplateMeter& meter, std::string_view symbol, const TemplateValue& left,
                                const TemplateValue& right);
TemplateValue signed_number(TemplateMeter& meter, std::string_view sign, const TemplateValue& value);

// == != < <= > >= in, not in
bool comparison_result(TemplateMeter& meter, std::string_view symbol, const TemplateValue& left,
                       const TemplateValue& right);

// value[index] and value.name: undefined if missing, an error if `value` itself is undefined.
TemplateValue item_of(TemplateMeter& meter, const TemplateValue& value, const TemplateValue& index);
TemplateValue member_of(TemplateMeter& meter, const TemplateValue& value, std::string_view name);

// value[start:stop:step]; each of the three may be none.
TemplateValue slice_of(TemplateMeter& meter, const TemplateValue& value, const TemplateValue& start,
                       const TemplateValue& stop, const TemplateValue& step);

}  // namespace fwl
